"""The QASPER builder on hand-made papers: every expected span is written out."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.corpora import BUILDERS
from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.qasper import Options, build
from docstructure.corpora.qasper_statistics import render, statistics
from docstructure.corpora.stage import build_corpus
from docstructure.registry import KindError

DEEP = "The deep section reports ninety-one percent accuracy on the held-out test set."


def answer(evidence=(), unanswerable=False, spans=(), yes_no=None, free=""):
    return {
        "answer": {
            "unanswerable": unanswerable,
            "extractive_spans": list(spans),
            "yes_no": yes_no,
            "free_form_answer": free,
            "evidence": list(evidence),
            "highlighted_evidence": [],
        },
        "annotation_id": "a",
        "worker_id": "w",
    }


def question(question_id, *answers, text="What is it?"):
    return {"question": text, "question_id": question_id, "answers": list(answers)}


def section(name, *paragraphs):
    return {"section_name": name, "paragraphs": list(paragraphs)}


# Paragraph spans of the first paper: lead [0,15), first [17,33), repeated [35,44), encoder [46,72), repeated [74,83),
# padded [85,104), deep [106,184).
NESTED = {
    "title": "  A Study\nof Things ",
    "abstract": "The abstract.",
    "full_text": [
        section(None, "Lead paragraph."),
        section("Introduction", "First paragraph.", "", "   ", "Repeated."),
        section("Model ::: Encoder ", "Encoder text\nwith newline."),
        section("Model ::: Decoder", "Repeated.", "  padded paragraph "),
        section(" Results"),
        section("Results ::: Main ::: Detail", DEEP),
    ],
    "qas": [
        question("newline", answer(["Encoder text with newline.\n"], spans=["Encoder"])),
        question("twice-in-paper", answer(["Repeated."], free="It repeats.")),
        question("cited-twice", answer(["Repeated.", "Repeated."], free="It repeats.")),
        question("padding", answer(["padded paragraph"], yes_no=True)),
        question("float-and-text", answer(["First paragraph.", "FLOAT SELECTED: Table 1"], free="First.")),
        question("float-only", answer(["  see FLOAT SELECTED: Figure 2"], free="A figure.")),
        question("fuzzy", answer([DEEP.replace("ninety-one", "ninety one")], free="It is high.")),
        question("section", answer(["Model"], free="The model.")),
        question("section-by-title", answer(["decoder"], free="The decoder.")),
        question("section-deep", answer(["Results ::: Main"], free="The results.")),
        question("section-without-text", answer(["Lead"], free="No section has this name.")),
        question("unmatched", answer(["This stands nowhere in the paper at all."], free="Lost.")),
        question(
            "partly-unmatched", answer(["This stands nowhere in the paper.", "Lead paragraph.", " "], free="Half.")
        ),
    ],
}

# Paragraph spans of the second paper: [0,12), [14,22), [24,36), in code points (the joined emoji is three).
MULTIBYTE = {
    "title": "",
    "full_text": [section("", "👩\u200d🔬 und 中文 —"), section("A", "Ответ 42"), section("A", "Another one.")],
    "qas": [
        question("disagree", answer(["Ответ 42"], spans=["Ответ"]), answer(unanswerable=True)),
        question("union", answer(["Another one."], yes_no=False), answer(["Ответ 42"], yes_no=True, free="yes")),
        question("both-of-a-name", answer(["A"], free="Two sections bear this name.")),
        question("contradictory", answer(["Ответ 42"], unanswerable=True, free="GRU")),
        question("unanswerable", answer(unanswerable=True), answer(unanswerable=True)),
        question("numeric", answer(["Ответ 42"], spans=["42 %"]), answer(["Another one."], free="≈ 1,006.5")),
        question("half-numeric", answer(["Ответ 42"], spans=["42"]), answer(["Another one."], free="forty-two")),
        question("no-evidence", answer(yes_no=True), answer(["", " \n"], yes_no=False)),
        question("no answer", text="Nobody answered?"),
        question("empty", answer(["Ответ 42"], free="x"), text=" \n"),
        question("same", answer(["Ответ 42"], free="x")),
        question("same", answer(["Ответ 42"], free="x")),
        question("same", answer(["Another one."], free="y"), text="Another question?"),
        question(
            "contradictory-aside",
            answer(["Ответ 42"], unanswerable=True, yes_no=False),
            answer(["Another one."], free="y"),
        ),
    ],
}

EMPTY = {
    "title": "Nothing",
    "full_text": [section("Introduction", "", " ")],
    "qas": [question("union", answer(["Nothing"], free="x"))],
}


@pytest.fixture
def file(tmp_path):
    def write(papers, name="papers.json"):
        path = tmp_path / name
        path.write_text(json.dumps(papers), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def quirks(file):
    return file({"1901.00001": NESTED, "1901 00002": MULTIBYTE, "1901.00003": EMPTY})


def made(path, **options):
    corpus = build(Options(files=[path], **options))
    assert verify(corpus) == []
    return corpus


def spans_of(corpus):
    return {query.query_id: list(query.spans) for query in corpus.queries}


def reasons_of(corpus, stage):
    return {item.item_id: item.reason for item in corpus.funnels[stage] if not item.kept}


def test_quirks_give_these_spans_exactly(quirks):
    assert spans_of(made(quirks)) == {
        "newline": [(46, 72)],
        "twice-in-paper": [(35, 44)],
        "cited-twice": [(35, 44), (74, 83)],
        "padding": [(85, 104)],
        "float-and-text": [(17, 33)],
        "fuzzy": [(106, 184)],
        "section": [(46, 104)],
        "section-by-title": [(74, 104)],
        "section-deep": [(106, 184)],
        "partly-unmatched": [(0, 15)],
        "disagree": [(14, 22)],
        "1901_00002:union": [(14, 22), (24, 36)],
        "both-of-a-name": [(14, 22)],
        "half-numeric": [(14, 22), (24, 36)],
        "1901_00002:same": [(14, 22)],
        "1901_00002:same:3": [(24, 36)],
        "contradictory-aside": [(24, 36)],
    }


def test_every_dropped_question_has_its_reason(quirks):
    assert reasons_of(made(quirks), "queries") == {
        "float-only": "float-only",
        "section-without-text": "unmatched",
        "unmatched": "unmatched",
        "contradictory": "contradictory",
        "unanswerable": "unanswerable",
        "numeric": "numeric-only",
        "no-evidence": "no-evidence",
        "no_answer": "no-answer",
        "empty": "empty-question",
        "1901_00002:same:2": "duplicate",
        "1901.00003:union": "no-document",
    }


def test_documents_hold_paragraphs_and_no_headings(quirks):
    nested, multibyte = made(quirks).documents
    assert nested.doc_id == "1901.00001"
    assert nested.title == "A Study\nof Things"
    assert nested.text == "\n\n".join(
        [
            "Lead paragraph.",
            "First paragraph.",
            "Repeated.",
            "Encoder text\nwith newline.",
            "Repeated.",
            "  padded paragraph ",
            DEEP,
        ]
    )
    assert [(section.path, section.par_start, section.par_end) for section in nested.sections] == [
        ((), 0, 1),
        (("Introduction",), 1, 3),
        (("Model",), 3, 3),
        (("Model", "Encoder"), 3, 4),
        (("Model", "Decoder"), 4, 6),
        (("Results",), 6, 6),
        (("Results", "Main"), 6, 6),
        (("Results", "Main", "Detail"), 6, 7),
    ]
    assert [section.path for section in multibyte.sections] == [(), ("A",), ("A",)]
    assert multibyte.doc_id == "1901_00002"
    assert multibyte.text[14:22] == "Ответ 42"
    assert multibyte.licence == "CC BY 4.0"
    assert multibyte.revision.startswith("sha256:")


def test_every_evidence_string_is_accounted_for(quirks):
    corpus = made(quirks)
    given_ = sum(
        len(annotation["answer"]["evidence"])
        for paper in (NESTED, MULTIBYTE, EMPTY)
        for asked in paper["qas"]
        for annotation in asked["answers"]
    )
    items = corpus.funnels["evidence"]
    assert len({item.item_id for item in items}) == len(items) == given_
    assert all(item.reason for item in items)
    assert Counter(item.reason.partition(":")[0] for item in items) == {
        "exact": 18,
        "fuzzy": 1,
        "section": 4,
        "unmatched": 3,
        "float": 2,
        "empty": 3,
        "contradictory": 2,
        "duplicate": 1,
        "no-document": 1,
    }
    by_id = {item.item_id: item for item in items}
    assert by_id["newline/0/0"].reason == "exact: 100.00"
    step, score = by_id["fuzzy/0/0"].reason.split(": ")
    # One of 78 characters differs: one deletion and one insertion of 156.
    assert (step, float(score)) == ("fuzzy", pytest.approx(100 * (1 - 2 / 156), abs=0.005))
    assert by_id["section/0/0"].reason == "section: 100.00"
    assert by_id["1901.00003:union/0/0"].reason == "no-document"


def test_types(quirks):
    types = {query.query_id: query.type for query in made(quirks).queries}
    assert types["newline"] == "extractive"
    assert types["padding"] == "boolean"
    assert types["section"] == "abstractive"
    # boolean and (boolean with free text): the evaluator reads the second as abstractive, the reader as boolean.
    assert types["1901_00002:union"] == "boolean"
    assert types["half-numeric"] == "extractive"


def test_type_rules_differ_where_two_fields_are_filled(file):
    both = question("q", answer(["Text."], yes_no=False, free="no"))
    path = file({"p": {"full_text": [section("A", "Text.")], "qas": [both]}})
    assert made(path).queries[0].type == "abstractive"
    assert made(path, type_rule="reader").queries[0].type == "boolean"


@pytest.mark.parametrize(("type_by", "expected"), [("majority", "abstractive"), ("first", "boolean")])
def test_type_by_majority_or_first(file, type_by, expected):
    asked = question(
        "q",
        answer(["Text."], yes_no=True),
        answer(["Text."], free="a"),
        answer(["Text."], free="b"),
    )
    path = file({"p": {"full_text": [section("A", "Text.")], "qas": [asked]}})
    assert made(path, type_by=type_by).queries[0].type == expected


def test_an_even_vote_goes_to_the_first_answer(file):
    asked = question("q", answer(["Text."], free="a"), answer(["Text."], spans=["Text"]))
    path = file({"p": {"full_text": [section("A", "Text.")], "qas": [asked]}})
    assert made(path).queries[0].type == "abstractive"


def test_first_annotator(quirks):
    corpus = made(quirks, annotators="first")
    spans = spans_of(corpus)
    assert spans["1901_00002:union"] == [(24, 36)]
    assert "half-numeric" not in spans
    reasons = reasons_of(corpus, "queries")
    assert reasons["half-numeric"] == "numeric-only"
    assert reasons["contradictory-aside"] == "contradictory"
    assert Counter(item.reason for item in corpus.funnels["evidence"])["other-annotator"] == 6


@pytest.mark.parametrize(
    ("option", "value", "query_id", "expected"),
    [
        ("unanswerable", "any", "disagree", "unanswerable"),
        ("contradictory", "unanswerable", "contradictory", "unanswerable"),
        ("contradictory", "answer", "contradictory", [(14, 22)]),
        ("contradictory", "answer", "contradictory-aside", [(14, 22), (24, 36)]),
        ("floats", "drop_question", "float-and-text", "float"),
        ("floats", "drop_question", "float-only", "float-only"),
        ("numeric_only", "keep", "numeric", [(14, 22), (24, 36)]),
        ("repeated", "all", "twice-in-paper", [(35, 44), (74, 83)]),
        ("repeated", "all", "both-of-a-name", [(14, 22), (24, 36)]),
        ("fuzzy_threshold", 99.0, "fuzzy", "unmatched"),
        ("section_fallback", "off", "section", "unmatched"),
    ],
)
def test_policies(quirks, option, value, query_id, expected):
    corpus = made(quirks, **{option: value})
    found = spans_of(corpus).get(query_id) or reasons_of(corpus, "queries")[query_id]
    assert found == expected


def test_abstract_as_lead(quirks):
    lead = made(quirks, abstract="lead").documents[0]
    assert lead.text.startswith("The abstract.\n\nLead paragraph.")
    assert lead.sections[0].path == ()
    assert (lead.sections[0].par_start, lead.sections[0].par_end) == (0, 2)


def test_partial_ratio_finds_a_part_of_a_paragraph_and_means_all_of_it(file):
    part = question("q", answer([DEEP[:50]], free="x"))
    short = question("s", answer([DEEP[:20]], free="x"))
    path = file({"p": {"full_text": [section("A", "Other.", DEEP)], "qas": [part, short]}})
    assert made(path).queries == []
    assert spans_of(made(path, fuzzy_scorer="partial_ratio")) == {"q": [(8, 8 + len(DEEP))]}


def test_sources_without_labels_are_typed_unlabelled(file):
    asked = question("q", {"answer": {"evidence": ["Text."]}})
    path = file({"p": {"full_text": [section("A", "Text.")], "qas": [asked]}})
    assert made(path).queries[0].type == "unlabelled"


def test_statistics_of_the_quirks(quirks):
    figures = statistics(made(quirks))
    assert (figures.papers, figures.documents, figures.questions, figures.queries) == (3, 2, 28, 17)
    assert figures.papers_with_queries == 2
    assert figures.exact == pytest.approx(18 / 26)
    assert figures.multi_span == pytest.approx(3 / 17)
    assert figures.mean_spans == pytest.approx(20 / 17)
    assert figures.depth_1 == pytest.approx(1 / 2)
    assert figures.drops["unmatched"] == 2


def test_statistics_of_nothing_are_nan_not_zero(file):
    figures = statistics(made(file({"p": {"full_text": [section("A", "Text.")], "qas": []}})))
    assert math.isnan(figures.exact)
    assert math.isnan(figures.mean_spans)
    assert "nan" in render(figures)


def test_the_funnel_is_printed_beside_the_papers(quirks, capsys):
    made(quirks)
    printed = capsys.readouterr().err
    for figure in ("5,049", "4,303", "1,508", "95.7%", "43.9%", "2.10", "61%", "69.2%", "numeric-only 1"):
        assert figure in printed


def test_the_stage_writes_sound_artifacts(quirks, tmp_path):
    import polars as pl

    out = {name: str(tmp_path / f"out/{name}.parquet") for name in ("documents", "headings", "queries")}
    build_corpus("qasper", {"qasper": {"files": [quirks]}}, **out, funnel=str(tmp_path / "out/funnel"))
    documents = pl.read_parquet(out["documents"])
    texts = dict(documents.select("doc_id", "text").iter_rows())
    queries = pl.read_parquet(out["queries"])
    cited = queries.filter(query_id="1901_00002:union").row(0, named=True)
    assert [texts[cited["doc_id"]][span["start"] : span["end"]] for span in cited["spans"]] == [
        "Ответ 42",
        "Another one.",
    ]
    assert {path.name for path in (tmp_path / "out/funnel").iterdir()} == {
        "corpus.parquet",
        "queries.parquet",
        "evidence.parquet",
    }


TITLE = st.sampled_from(["A", "B", " C", "A ::: B", "A ::: C ", "B ::: A ::: A", "", None, "::: A"])
PARAGRAPH = st.sampled_from(["x", "y", "longer text", "x\ny", " x ", "", " ", "中文 😀"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TITLE, st.lists(PARAGRAPH, max_size=4)), max_size=8))
def test_each_paragraph_lies_in_the_section_that_its_row_names(rows):
    from docstructure.corpora.qasper import document_of
    from docstructure.corpora.qasper_papers import Paper, SectionRow
    from docstructure.corpora.qasper_sources import Source

    paper = Paper("p", "", "", tuple(SectionRow(name, tuple(texts)) for name, texts in rows), ())
    document = document_of(paper, Source("f", "", (paper,)), "omit")
    expected, path = [], ()
    for name, texts in rows:
        titles = tuple(part.strip() for part in (name or "").split(":::") if part.strip())
        path = titles or path
        expected += [(path, text) for text in texts if text.strip()]
    found = [
        (section.path, document.text[slice(*document.paragraphs[index])])
        for section in document.sections
        for index in range(section.par_start, section.par_end)
    ]
    assert found == expected
    named = [titles for name, _ in rows if (titles := tuple(p.strip() for p in (name or "").split(":::") if p.strip()))]
    assert all(path in [section.path for section in document.sections] for path in named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no source"),
        ({"files": "a.json"}, "files is 'a.json'; allowed is a list"),
        ({"files": ["a"], "annotators": "all"}, "annotators is 'all'; allowed are union, first"),
        ({"files": ["a"], "floats": "drop"}, "floats is 'drop'"),
        ({"files": ["a"], "abstract": True}, "abstract is True"),
        ({"files": ["a"], "fuzzy_threshold": 0}, "fuzzy_threshold is 0"),
        ({"files": ["a"], "fuzzy_threshold": 101}, "fuzzy_threshold is 101"),
        ({"files": ["a"], "fuzzy_scorer": "token_set"}, "fuzzy_scorer is 'token_set'"),
        ({"files": ["a"], "repeated": "last"}, "repeated is 'last'"),
        ({"files": ["a"], "section_fallback": False}, "section_fallback is False; allowed are named, off"),
        ({"files": ["a"], "numeric_only": False}, "numeric_only is False"),
        ({"files": ["a"], "type_rule": "x"}, "type_rule is 'x'"),
        ({"archives": [{"path": "a"}]}, "allowed is {path, sha256} or {url, sha256}"),
        ({"dataset": {"name": "a"}}, "allowed is {path, name, revision}"),
        ({"files": ["a"], "download_attempts": 0}, "download_attempts is 0"),
    ],
)
def test_bad_options_name_key_value_and_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message.replace("{", r"\{").replace("}", r"\}")):
        Options(**options)


def test_an_unknown_option_is_refused():
    with pytest.raises(KindError, match="unknown option drop_contradictory"):
        BUILDERS.resolve({"qasper": {"files": ["a"], "drop_contradictory": True}})


@pytest.mark.parametrize(
    ("paper", "message"),
    [
        ([], "paper p: expected an object, found list"),
        ({"qas": []}, "full_text is missing"),
        ({"full_text": [], "qas": None}, "qas is null, expected a list"),
        ({"full_text": [{"section_name": "A"}], "qas": []}, r"full_text\[0\]: paragraphs is missing"),
        ({"full_text": [section(3, "x")], "qas": []}, "section_name: expected a text, found int"),
        ({"full_text": [], "qas": [{"question": "q", "answers": []}]}, r"qas\[0\]: question_id"),
        ({"full_text": [], "qas": [question("q", {"answer": {}})]}, r"answers\[0\]: answer: evidence is missing"),
        (
            {"full_text": [], "qas": [question("q", {"answer": {"evidence": [], "yes_no": "no"}})]},
            "yes_no is 'no', expected true, false or null",
        ),
        ({"full_text": [section("A", "\ud83d")], "qas": []}, "half of a surrogate pair"),
    ],
)
def test_a_malformed_paper_is_named(file, paper, message):
    with pytest.raises(CorpusError, match=message) as error:
        build(Options(files=[file({"p": paper})]))
    assert "papers.json" in str(error.value)
