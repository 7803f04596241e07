"""The Chroma builder: WikiText articles, exact spans, one clear error for bad input, and the real wikitexts corpus."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest

from docstructure.corpora.chroma import Options, build, read_heading
from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.stage import build_corpus

REAL = Path(__file__).parents[3] / "shared" / "data" / "spans" / "chroma"

WIKI = (
    " = Sea Cat = \n"  # 0..13
    " A sea cat swims . \n"  # 14..33
    " = = Diet = = \n"  # 34..48
    " It eats fish . \n"  # 49..65
    " = = = Fish = = = \n"  # 66..84
    " Cod , mostly . \n"  # 85..101
    " = Land Dog = \n"  # 102..116
    " It barks . \n"  # 117..129
    " = Goals ; A = \n"  # 130..145
    " Assists . \n"  # 146..157
)


def write(folder, rows, files=None):
    for name, content in ({"wiki": WIKI} if files is None else files).items():
        (folder / f"{name}.md").write_bytes(content if isinstance(content, bytes) else content.encode())
    with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["question", "references", "corpus_id"])
        for question, references, corpus_id in rows:
            text = references if isinstance(references, str) else json.dumps(references)
            writer.writerow([question, text, corpus_id])
    return {"questions": str(folder / "questions.csv"), "folder": str(folder)}


def ref(content, start, end):
    return {"content": content, "start_index": start, "end_index": end}


def make(folder, rows, files=None, **options):
    return build(Options(**write(folder, rows, files), **options))


FISH = ref("eats fish", 53, 62)


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        (" = Title = ", (1, "Title")),
        (" = = Two words = = ", (2, "Two words")),
        ("= = = = Deep = = = =", (4, "Deep")),
        (" = A = B = ", (1, "A = B")),
        (" = = Uneven = ", None),
        (" = Uneven = = ", None),
        (" Penalty minutes ; + / - = Plus / minus ", None),
        (" = = ", None),
        ("== Markup ==", None),
        (" = Open ", None),
    ],
)
def test_what_is_a_heading(line, heading):
    found = read_heading(line)
    assert (found and (found.rank, found.title)) == heading


def test_a_file_is_split_into_articles_with_their_sections(tmp_path):
    corpus = make(tmp_path, [("What does it eat?", [FISH], "wiki")])
    cat, dog = corpus.documents
    assert (cat.doc_id, cat.title, cat.text) == (
        "wiki/Sea_Cat",
        "Sea Cat",
        " A sea cat swims . \n\n It eats fish . \n\n Cod , mostly . ",
    )
    assert [(section.path, section.par_start, section.par_end) for section in cat.sections] == [
        ((), 0, 1),
        (("Diet",), 1, 2),
        (("Diet", "Fish"), 2, 3),
    ]
    assert cat.origins == (14, 49, 85)
    assert (dog.doc_id, dog.text) == ("wiki/Land_Dog", " It barks . \n\n = Goals ; A = \n\n Assists . ")
    assert not dog.has_headings
    (query,) = corpus.queries
    assert (query.query_id, query.doc_id, query.type, query.spans) == ("wiki:1", "wiki/Sea_Cat", "wiki", ((25, 34),))
    assert cat.text[25:34] == "eats fish"
    assert verify(corpus) == []


def test_definition_lines_can_be_counted_as_titles(tmp_path):
    corpus = make(tmp_path, [("?", [FISH], "wiki")], definition_lines="title")
    assert [document.title for document in corpus.documents] == ["Sea Cat", "Land Dog", "Goals ; A"]


def test_a_span_over_a_heading_keeps_both_sides_and_counts_the_rest(tmp_path):
    corpus = make(tmp_path, [("?", [ref(WIKI[20:62], 20, 62)], "wiki")])
    (query,) = corpus.queries
    assert query.spans == ((6, 19), (21, 34))
    text = corpus.documents[0].text
    assert [text[start:end] for start, end in query.spans] == [" cat swims . ", " It eats fish"]
    (item,) = corpus.funnels["evidence"]
    assert (item.kept, item.reason) == (True, "outside_text: 8 of 27 characters")


def test_a_question_about_two_articles_is_dropped_or_split(tmp_path):
    rows = [("Both?", [FISH, ref("barks", 121, 126)], "wiki"), ("One?", [FISH], "wiki")]
    corpus = make(tmp_path, rows)
    assert [query.query_id for query in corpus.queries] == ["wiki:2"]
    assert corpus.funnels["queries"][0].reason == "several_documents: wiki/Sea_Cat, wiki/Land_Dog"
    corpus = make(tmp_path, rows, several_documents="split")
    assert [(query.query_id, query.doc_id, query.spans) for query in corpus.queries] == [
        ("wiki:1@1", "wiki/Sea_Cat", ((25, 34),)),
        ("wiki:1@2", "wiki/Land_Dog", ((4, 9),)),
        ("wiki:2", "wiki/Sea_Cat", ((25, 34),)),
    ]


PLAIN = "First line\nstill first.\n\n# Not read\n\nSecond."


def test_a_file_without_such_headings_is_one_document(tmp_path):
    rows = [("Second?", [ref("Second.", 37, 44)], "plain"), ("Cat?", [FISH], "wiki")]
    files = {"plain": PLAIN, "wiki": WIKI}
    corpus = make(tmp_path, rows, files)
    document = corpus.documents[0]
    assert (document.doc_id, document.text, document.paragraphs) == ("plain", PLAIN, ((0, 23), (25, 35), (37, 44)))
    assert not document.has_headings
    assert [(query.query_id, query.spans) for query in corpus.queries] == [
        ("plain:1", ((37, 44),)),
        ("wiki:2", ((25, 34),)),
    ]
    chosen = make(tmp_path, rows, files, corpora=["plain"])
    assert [document.doc_id for document in chosen.documents] == ["plain"]
    assert [(item.item_id, item.reason) for item in chosen.funnels["queries"]] == [
        ("plain:1", ""),
        ("wiki:2", "other_corpus: wiki"),
    ]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_markdown_headings_are_read_where_asked_for(tmp_path, mark):
    shift = len(mark)
    rows = [("Second?", [ref("Second.", 37 + shift, 44 + shift)], "plain")]
    corpus = make(tmp_path, rows, {"plain": mark + PLAIN}, headings="markdown")
    (document,) = corpus.documents
    assert (document.doc_id, document.path) == ("plain", "plain.md")
    assert [section.path for section in document.sections] == [(), ("Not read",)]
    assert corpus.queries[0].spans == ((25, 32),)
    assert document.text[25:32] == "Second."


@pytest.mark.parametrize(("newlines", "start"), [("universal", 53), ("kept", 56)])
def test_crlf_files_are_addressed_as_their_offsets_were_counted(tmp_path, newlines, start):
    files = {"wiki": WIKI.replace("\n", "\r\n")}
    corpus = make(tmp_path, [("?", [ref("eats fish", start, start + 9)], "wiki")], files, newlines=newlines)
    assert corpus.queries[0].spans == ((25, 34),)
    assert "\r" not in corpus.documents[0].text


def test_a_byte_order_mark_hides_no_title(tmp_path):
    corpus = make(tmp_path, [("?", [ref("eats fish", 54, 63)], "wiki")], {"wiki": "\ufeff" + WIKI})
    assert [document.title for document in corpus.documents] == ["Sea Cat", "Land Dog"]
    assert corpus.queries[0].spans == ((25, 34),)


def test_text_before_the_first_title_and_equal_titles_get_ids_of_their_own(tmp_path):
    text = " Before . \n = A = \n One . \n = A = \n Two . \n"
    corpus = make(tmp_path, [("?", [ref("Two", 36, 39)], "w")], {"w": text})
    assert [(document.doc_id, document.text) for document in corpus.documents] == [
        ("w", " Before . "),
        ("w/A", " One . "),
        ("w/A~2", " Two . "),
    ]
    assert corpus.queries[0].doc_id == "w/A~2"


def stage(options, out):
    build_corpus(
        "mine",
        {"chroma": options},
        str(out / "documents.parquet"),
        str(out / "headings.parquet"),
        str(out / "queries.parquet"),
        str(out / "funnel"),
    )


def test_the_stage_writes_it_and_one_document_is_enough(tmp_path):
    options = write(tmp_path, [("?", [ref("eats", 20, 24)], "w")], {"w": " = A = \n = = B = = \n eats . \n"})
    with pytest.raises(CorpusError, match="reads"):
        stage(options, tmp_path / "out")
    options = write(tmp_path, [("?", [ref("eats", 21, 25)], "w")], {"w": " = A = \n = = B = = \n eats . \n"})
    stage(options, tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "headings.parquet")["path"].to_list() == [["B"]]


ROW = ("What?", [FISH], "wiki")
BAD_ROWS = {
    "other content": (
        [ROW, ("?", [ref("eats fisH", 53, 62)], "wiki")],
        r"row 2 .*, reference 1: .*'eats fish', not 'eats fi",
    ),
    "no content": ([("?", [{"start_index": 1, "end_index": 2}], "wiki")], r"row 1 .*, reference 1: the text of a span"),
    "past the end": ([("?", [FISH, ref("x", 150, 159)], "wiki")], r"row 1 .*, reference 2: .* the 158 characters of"),
    "no offsets": ([("?", [{"content": "x"}], "wiki")], r"row 1 .*, reference 1: a span is two whole numbers"),
    "heading only": (
        [("?", [ref("Diet", 39, 43)], "wiki")],
        r"row 1 .*: no evidence of query wiki:1 .*all 4 characters",
    ),
    "unknown corpus": ([ROW, ("?", [FISH], "finance")], r"row 2 .*: corpus 'finance' has no file"),
    "no JSON": ([("?", "[{", "wiki")], r"row 1 .*: references are not JSON"),
    "no list": ([("?", {"content": "x"}, "wiki")], r"row 1 .*: references must be a list"),
    "no reference": ([("?", [], "wiki")], r"row 1 .*: references must be a list of at least one"),
    "blank question": ([("  ", [FISH], "wiki")], r"row 1 .*: question must be a non-blank string"),
    "no row": ([], r"questions\.csv: no question in it"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_named_and_write_nothing(tmp_path, case):
    rows, message = BAD_ROWS[case]
    options = write(tmp_path, rows)
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


BAD_FILES = {
    "wrong encoding": ({"wiki": b" = A = \n caf\xe9 \n"}, r"wiki\.md: not utf-8 at byte 12"),
    "no text": ({"wiki": " = A = \n = = B = = \n"}, r"wiki\.md: the corpus is empty"),
    "blank": ({"wiki": "\n \n"}, r"wiki\.md: the corpus is empty"),
    "missing": ({}, r"wiki\.md"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_named_and_write_nothing(tmp_path, case):
    files, message = BAD_FILES[case]
    options = write(tmp_path, [ROW], files)
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_or_other_csv_is_named(tmp_path):
    options = write(tmp_path, [ROW])
    with pytest.raises(CorpusError, match=r"none\.csv: no such file"):
        build(Options(questions=str(tmp_path / "none.csv"), folder=str(tmp_path)))
    (tmp_path / "questions.csv").write_text("question,answer\na,b\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"column references, corpus_id is missing; it has question, answer"):
        build(Options(**options))
    (tmp_path / "questions.csv").write_text('question,references,corpus_id\n"a,b', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"questions\.csv, line \d: not CSV: unexpected end"):
        build(Options(**options))


def test_wikitext_asked_for_and_not_found_is_an_error(tmp_path):
    rows = [("?", [ref("Second.", 37, 44)], "plain")]
    with pytest.raises(CorpusError, match=r"plain\.md: no ` = Title = ` line"):
        make(tmp_path, rows, {"plain": PLAIN}, headings="wikitext")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"headings": "html"}, "headings: 'html' is none of auto, wikitext, markdown, none"),
        ({"definition_lines": "drop"}, "definition_lines: 'drop'"),
        ({"corpora": "wiki"}, "corpora: a list"),
        ({"headings": "markdown", "encoding": "cp1252"}, "encoding: 'cp1252' with headings: markdown"),
        ({"several_documents": "x"}, "several_documents: 'x'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Options(questions="q.csv", folder="f", **options)


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data/spans/chroma is not here (public data, never committed)")
def test_chromas_wikitexts_every_span_equals_its_text():
    corpus = build(Options(questions=str(REAL / "questions.csv"), folder=str(REAL)))
    assert verify(corpus) == []
    assert len(corpus.documents) == 10
    with (REAL / "questions.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [query.query for query in corpus.queries] == [row["question"] for row in rows]
    texts = {document.doc_id: document.text for document in corpus.documents}
    equal = 0
    for query, row in zip(corpus.queries, rows, strict=True):
        wanted = sorted((ref["start_index"], ref["content"]) for ref in json.loads(row["references"]))
        assert [texts[query.doc_id][start:end] for start, end in query.spans] == [content for _, content in wanted]
        equal += len(wanted)
    assert equal == 249
    assert all(item.kept and not item.reason for item in corpus.funnels["evidence"])


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data/spans/chroma is not here (public data, never committed)")
def test_chromas_wikitexts_headings_and_text_as_counted_from_the_file():
    corpus = build(Options(questions=str(REAL / "questions.csv"), folder=str(REAL)))
    lines = (REAL / "wikitexts.md").read_text(encoding="utf-8").split("\n")
    titles = [line for line in lines if re.match(r" = [^=;]+ = $", line)]
    sections = [line for line in lines if re.match(r" = = ", line)]
    assert [f" = {document.title} = " for document in corpus.documents] == titles
    assert sum(len(document.sections) - (document.sections[0].path == ()) for document in corpus.documents) == len(
        sections
    )
    text_lines = [line for line in lines if line.strip() and line not in titles and line not in sections]
    assert [line for document in corpus.documents for line in document.text.split("\n\n")] == text_lines


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (
            '[{"content": "\\ud800", "start_index": 53, "end_index": 62}]',
            r"row 1 .*: references: \[0\].content: half of",
        ),
        ("[" * 100_000, r"row 1 .*: references: the JSON is nested too deeply"),
    ],
)
def test_references_that_cannot_be_kept_are_named(tmp_path, references, message):
    with pytest.raises(CorpusError, match=message):
        make(tmp_path, [("What?", references, "wiki")])


def test_a_row_with_more_columns_than_the_header_is_refused(tmp_path):
    options = write(tmp_path, [("What?", [FISH], "wiki")])
    path = Path(options["questions"])
    path.write_text(path.read_text(encoding="utf-8").rstrip() + ",more\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"questions.csv, row 1 .*: it has more columns than the header: \['more'\]"):
        build(Options(**options))
