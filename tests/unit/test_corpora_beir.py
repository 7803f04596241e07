"""The BEIR-like builder: whole documents or spans as evidence, sections, and one clear error for each bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from docstructure.corpora.beir import Options, build
from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.stage import build_corpus

CATS = {"_id": "d1", "title": "Cats", "text": "Cats purr.\n\nThey sleep. They eat."}
#                                              0123456789 0 1 234567890123456789012345
DOGS = {"_id": "d 2", "title": "", "text": "Dögs bark."}
EMPTY = {"_id": "d3", "title": "Only a title", "text": " "}
CORPUS = [CATS, DOGS, EMPTY]


def lines(rows):
    return "".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write(folder, corpus=CORPUS, queries=(), qrels=(), header="query-id\tcorpus-id\tscore\n"):
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(lines(corpus), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(queries), encoding="utf-8")
    rows = "".join(row if isinstance(row, str) else "\t".join(map(str, row)) + "\n" for row in qrels)
    (folder / "qrels" / "test.tsv").write_text(header + rows, encoding="utf-8")
    return {"folder": str(folder)}


def make(folder, options=None, **files):
    return build(Options(**write(folder, **files), **(options or {})))


def query(name, text="What?", **metadata):
    return {"_id": name, "text": text, "metadata": metadata}


def span(doc, start, end, **more):
    return {"doc": doc, "start": start, "end": end, **more}


def reasons(corpus, stage):
    return [(item.item_id, item.kept, item.reason) for item in corpus.funnels[stage]]


def test_a_query_without_spans_has_whole_documents(tmp_path):
    corpus = make(
        tmp_path, queries=[query("q1"), {"_id": "q2", "text": "Bark?"}], qrels=[("q1", "d1", 2), ("q2", "d 2", 1)]
    )
    assert [(one.doc_id, one.title, one.text) for one in corpus.documents] == [
        ("d1", "Cats", "Cats purr.\n\nThey sleep. They eat."),
        ("d_2", "", "Dögs bark."),
    ]
    assert [(one.query_id, one.doc_id, one.query, one.type, one.spans) for one in corpus.queries] == [
        ("q1", "d1", "What?", "unspecified", ((0, 33),)),
        ("q2", "d_2", "Bark?", "unspecified", ((0, 10),)),
    ]
    assert reasons(corpus, "corpus") == [("d1", True, ""), ("d_2", True, ""), ("d3", False, "empty")]
    assert verify(corpus) == []


def test_spans_of_a_query_win_over_the_qrels(tmp_path):
    spans = [span("d1", 12, 23, text="They sleep."), span("d1", 5, 9, text="purr")]
    queries = [query("q1", spans=spans, type="factoid")]
    corpus = make(tmp_path, queries=queries, qrels=[("q1", "d1", 1), ("q1", "d 2", 1)])
    (one,) = corpus.queries
    assert (one.doc_id, one.type, one.spans) == ("d1", "factoid", ((5, 9), (12, 23)))
    assert reasons(corpus, "evidence") == [
        ("q1@d_2", False, "relevant_without_span"),
        ("q1#1", True, ""),
        ("q1#2", True, ""),
    ]


def test_qrels_may_be_absent_where_queries_carry_spans(tmp_path):
    write(tmp_path, queries=[query("q1", spans=[span("d 2", 0, 4, text="Dögs")])])
    (tmp_path / "qrels" / "test.tsv").unlink()
    corpus = build(Options(folder=str(tmp_path), qrels=None))
    assert [(one.doc_id, one.spans) for one in corpus.queries] == [("d_2", ((0, 4),))]


def test_a_span_over_a_wide_blank_line_is_two_spans_of_the_text(tmp_path):
    wide = {"_id": "w", "text": "One.\r\n\r\n\n Two.\n"}
    queries = [query("q", spans=[span("w", 0, 14, text=wide["text"][:14])])]
    corpus = make(tmp_path, {"qrels": None}, corpus=[wide], queries=queries)
    assert corpus.documents[0].text == "One.\n\n Two."
    assert corpus.queries[0].spans == ((0, 4), (6, 11))


def test_sections_cut_the_text_where_they_begin(tmp_path):
    sections = [
        {"title": "Sounds", "start": 0},
        {"title": "Habits", "start": 12},
        {"title": "Food", "level": 2, "start": 24},
    ]
    cats = {**CATS, "metadata": {"sections": sections}}
    queries = [query("q", spans=[span("d1", 17, 33, text="sleep. They eat.")])]
    corpus = make(tmp_path, corpus=[cats], queries=queries, qrels=[("q", "d1", 1)])
    (document,) = corpus.documents
    assert document.text == "Cats purr.\n\nThey sleep. \n\nThey eat."
    assert [(one.path, one.par_start, one.par_end) for one in document.sections] == [
        (("Sounds",), 0, 1),
        (("Habits",), 1, 2),
        (("Habits", "Food"), 2, 3),
    ]
    assert corpus.queries[0].spans == ((17, 24), (26, 35))
    assert verify(corpus) == []


def test_what_is_dropped_has_a_reason(tmp_path):
    queries = [query(name) for name in ("good", "two", "zero", "none", "blank")]
    qrels = [("good", "d1", 1), ("two", "d1", 1), ("two", "d 2", 1), ("zero", "d1", 0), ("blank", "d3", 1)]
    corpus = make(tmp_path, queries=queries, qrels=qrels)
    assert reasons(corpus, "queries") == [
        ("good", True, ""),
        ("two", False, "several_documents: d1, d_2"),
        ("zero", False, "not_relevant"),
        ("none", False, "no_qrels"),
        ("blank", False, "empty_document"),
    ]
    assert reasons(corpus, "evidence")[-1] == ("blank#1", False, "empty_document: d3")
    split = make(tmp_path, {"several_documents": "split"}, queries=queries, qrels=qrels)
    assert [(one.query_id, one.doc_id) for one in split.queries] == [("good", "d1"), ("two@1", "d1"), ("two@2", "d_2")]
    graded = make(tmp_path, {"min_score": 2}, queries=queries[:2], qrels=[("good", "d1", 2), ("two", "d1", 1)])
    assert [one.query_id for one in graded.queries] == ["good"]


def test_qrels_without_header_and_with_crlf(tmp_path):
    corpus = make(tmp_path, queries=[query("q1")], qrels=["q1\td1\t1\r\n", "\n"], header="\ufeff")
    assert corpus.queries[0].doc_id == "d1"


def stage(options, out):
    build_corpus(
        "mine",
        {"beir": options},
        str(out / "documents.parquet"),
        str(out / "headings.parquet"),
        str(out / "queries.parquet"),
        str(out / "funnel"),
    )


def test_the_stage_writes_it_and_one_document_is_enough(tmp_path):
    options = write(tmp_path, corpus=[CATS], queries=[query("q1")], qrels=[("q1", "d1", 1)])
    stage(options, tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "documents.parquet")["doc_id"].to_list() == ["d1"]


Q, R = query("q1"), ("q1", "d1", 1)


def spans_of(*spans):
    return {"queries": [query("q1", spans=list(spans))], "qrels": [R]}


BAD = {
    "span past the end": (spans_of(span("d1", 0, 4), span("d1", 0, 34)), r"queries\.jsonl, line 1, span 2: .* 33 char"),
    "span text": (spans_of(span("d1", 0, 4, text="cats")), r"line 1, span 1: .* reads 'Cats', not 'cats'"),
    "span doc": (spans_of(span("d9", 0, 4)), r"line 1, span 1: document d9 is not in the corpus"),
    "span no doc": (spans_of({"start": 0, "end": 4}), r"line 1, span 1: doc must be"),
    "span white": (spans_of(span("d1", 10, 12)), r"line 1: no evidence of query q1"),
    "spans no list": (
        {"queries": [query("q1", spans={"d1": [0, 1]})], "qrels": [R]},
        r"line 1: metadata\.spans must be a list",
    ),
    "metadata": (
        {"queries": [{"_id": "q", "text": "?", "metadata": 1}], "qrels": [R]},
        r"line 1: metadata must be an object",
    ),
    "qrels document": ({"queries": [Q], "qrels": [R, ("q1", "d9", 0)]}, r"test\.tsv, line 3: document d9 is not in"),
    "qrels query": ({"queries": [Q], "qrels": [R, ("q9", "d1", 1)]}, r"test\.tsv, line 3: query q9 is not in"),
    "qrels score": ({"queries": [Q], "qrels": [R, ("q1", "d3", "high")]}, r"test\.tsv, line 3: score must be"),
    "qrels columns": ({"queries": [Q], "qrels": ["q1 d1 1\n"]}, r"test\.tsv, line 2: .* with tabs; found 1 columns"),
    "qrels twice": ({"queries": [Q], "qrels": [R, R]}, r"test\.tsv, line 3: query q1 and document d1 occur twice"),
    "qrels empty": ({"queries": [Q], "qrels": []}, r"test\.tsv: no judgement"),
    "document twice": (
        {"corpus": [CATS, CATS], "queries": [Q], "qrels": [R]},
        r"corpus\.jsonl, line 2: _id d1 occurs twice",
    ),
    "near ids": (
        {"corpus": [{**CATS, "_id": "a b"}, {**CATS, "_id": "a_b"}], "queries": [Q], "qrels": [R]},
        r"corpus\.jsonl, line 2: _id a_b occurs twice",
    ),
    "query twice": ({"queries": [Q, Q], "qrels": [R]}, r"queries\.jsonl, line 2: _id q1 occurs twice"),
    "no id": ({"corpus": [{"text": "x"}], "queries": [Q], "qrels": [R]}, r"corpus\.jsonl, line 1: _id must be"),
    "no text": ({"corpus": [{"_id": "d1"}], "queries": [Q], "qrels": [R]}, r"corpus\.jsonl, line 1: text is missing"),
    "blank query": ({"queries": [query("q1", " ")], "qrels": [R]}, r"queries\.jsonl, line 1: text must be a non-blank"),
    "no JSON": ({"corpus": [CATS, "{\n"], "queries": [Q], "qrels": [R]}, r"corpus\.jsonl, line 2: not JSON"),
    "empty corpus": ({"corpus": [], "queries": [Q], "qrels": [R]}, r"corpus\.jsonl: the corpus is empty"),
    "empty texts": ({"corpus": [EMPTY], "queries": [Q], "qrels": [("q1", "d3", 1)]}, r"the corpus is empty"),
    "no query": ({"queries": [], "qrels": [R]}, r"queries\.jsonl: no query in it"),
    "none left": ({"queries": [Q], "qrels": [("q1", "d1", 0)]}, r"no query is left \(not_relevant 1\)"),
    "section order": (
        {
            "corpus": [{**CATS, "metadata": {"sections": [{"title": "A", "start": 5}, {"title": "B", "start": 4}]}}],
            "queries": [Q],
            "qrels": [R],
        },
        r"corpus\.jsonl, line 1, section 2: start must be",
    ),
    "section level": (
        {
            "corpus": [{**CATS, "metadata": {"sections": [{"title": "A", "start": 0, "level": 0}]}}],
            "queries": [Q],
            "qrels": [R],
        },
        r"corpus\.jsonl, line 1, section 1: level must be",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_writes_nothing(tmp_path, case):
    files, message = BAD[case]
    options = write(tmp_path, **files)
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_missing_files_and_wrong_encodings_are_named(tmp_path, name):
    options = write(tmp_path, queries=[Q], qrels=[R])
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content + b"\xe9")
    with pytest.raises(CorpusError, match=rf"{name}: not utf-8(-sig)? at byte {len(content)}"):
        stage(options, tmp_path / "out")
    (tmp_path / name).unlink()
    with pytest.raises(CorpusError, match=f"{name}: no such file"):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_score": 0}, "min_score: 0"),
        ({"min_score": 1.5}, "min_score"),
        ({"several_documents": "x"}, "several_documents"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Options(folder="f", **options)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"_id": "q", "text": "a \\ud800 b"}', r"queries.jsonl, line 1: text: half of a surrogate pair"),
        ('{"_id": "q", "text": "a", "metadata": {"x": [1, "\\udfff"]}}', r"line 1: metadata.x\[1\]: half of a"),
        ('{"_id": "q", "\\ud800": "a"}', r"line 1: key '\\ud800': half of a"),
        ('{"_id": ' + "[" * 100_000, r"queries.jsonl, line 1: the JSON is nested too deeply"),
        ('{"_id": ' + "1" * 10_000 + "}", r"queries.jsonl, line 1: not JSON: Exceeds the limit"),
    ],
)
def test_json_that_cannot_be_kept_is_named(tmp_path, line, message):
    with pytest.raises(CorpusError, match=message):
        make(tmp_path, queries=[line + "\n"], qrels=[("q", "d1", 1)])


def test_a_whole_surrogate_pair_is_a_character(tmp_path):
    corpus = make(tmp_path, queries=['{"_id": "q", "text": "\\ud83d\\ude00?"}\n'], qrels=[("q", "d1", 1)])
    assert corpus.queries[0].query == "\U0001f600?"


@pytest.mark.parametrize("title", ["Cats", "\ud800"])
def test_nothing_is_written_unless_every_table_is_sound(tmp_path, monkeypatch, title):
    corpus = make(tmp_path, queries=[query("q")], qrels=[("q", "d1", 1)])
    item = corpus.funnels["corpus"][0]
    if title == "Cats":
        bad = replace(corpus, funnels={**corpus.funnels, "corpus": [item, item]})
    else:
        bad = replace(corpus, documents=[replace(corpus.documents[0], title=title), *corpus.documents[1:]])
    monkeypatch.setattr("docstructure.corpora.stage.BUILDERS", SimpleNamespace(resolve=lambda _: (None, lambda _: bad)))
    out = tmp_path / "out"
    paths = [str(out / f"{name}.parquet") for name in ("documents", "headings", "queries")]
    with pytest.raises(ValueError, match=r"repeats|half of a surrogate pair: '\\ud800'"):
        build_corpus("c", {}, *paths, str(out / "funnel"))
    assert not out.exists()
