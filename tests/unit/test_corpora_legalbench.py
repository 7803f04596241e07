"""The LegalBench-RAG builder: exact spans, file names, and one clear error for each kind of bad input."""

from __future__ import annotations

import json
import unicodedata

import polars as pl
import pytest

from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.legalbench import Options, build
from docstructure.corpora.stage import build_corpus

NDA = "NON-DISCLOSURE AGREEMENT\n\n1. Parties.  Ünder law.\n   Line two.\n\n\n2. Term. Two years.\n"
#      0         1         2         3         4         5         6         7
#      012345678901234567890123456789
LEASE = "The lease ends in May."


def write(folder, tests=None, files=None, name="cuad.json"):
    files = {"cuad/My NDA.txt": NDA, "cuad/lease.txt": LEASE} if files is None else files
    for file, content in files.items():
        path = folder / "corpus" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "corpus").mkdir(exist_ok=True)
    if tests is not None:
        (folder / name).write_text(json.dumps({"tests": tests}), encoding="utf-8")
    return {"benchmarks": [str(folder / name)], "folder": str(folder / "corpus")}


def asked(*snippets, **more):
    return {"query": "What?", "snippets": list(snippets), "tags": ["cuad"], **more}


def snippet(file, start, end, **more):
    return {"file_path": file, "span": [start, end], **more}


def make(folder, tests, files=None, **options):
    return build(Options(**write(folder, tests, files), **options))


def texts(corpus):
    by_id = {document.doc_id: document.text for document in corpus.documents}
    return [[by_id[query.doc_id][start:end] for start, end in query.spans] for query in corpus.queries]


def test_documents_are_verbatim_paragraphs_without_headings(tmp_path):
    corpus = make(tmp_path, [asked(snippet("cuad/My NDA.txt", 0, 3))], documents="all")
    nda, lease = corpus.documents
    assert (nda.doc_id, nda.title, nda.path) == ("cuad/My_NDA", "My NDA", "cuad/My NDA.txt")
    assert nda.text == "NON-DISCLOSURE AGREEMENT\n\n1. Parties.  Ünder law.\n   Line two.\n\n2. Term. Two years."
    assert nda.paragraphs == ((0, 24), (26, 62), (64, 83))
    assert nda.origins == (0, 26, 65)
    assert not nda.has_headings
    assert lease.text == LEASE
    assert verify(corpus) == []


def test_spans_count_characters_of_the_file(tmp_path):
    tests = [
        asked(snippet("cuad/My NDA.txt", 39, 49, answer="Ünder law."), query="Which law?"),
        asked(snippet("cuad/My NDA.txt", 74, 84), snippet("cuad/My NDA.txt", 29, 37, answer="Parties."), query="Two?"),
    ]
    corpus = make(tmp_path, tests)
    assert [(query.query_id, query.doc_id, query.query, query.type) for query in corpus.queries] == [
        ("cuad:1", "cuad/My_NDA", "Which law?", "cuad"),
        ("cuad:2", "cuad/My_NDA", "Two?", "cuad"),
    ]
    assert [query.spans for query in corpus.queries] == [((39, 49),), ((29, 37), (73, 83))]
    assert texts(corpus) == [["Ünder law."], ["Parties.", "Two years."]]
    assert [item.item_id for item in corpus.funnels["corpus"] if not item.kept] == ["cuad/lease"]


def test_a_span_over_a_blank_line_becomes_two_and_loses_nothing(tmp_path):
    answer = "Line two.\n\n\n2. Term."
    corpus = make(tmp_path, [asked(snippet("cuad/My NDA.txt", 53, 73, answer=answer))])
    assert corpus.queries[0].spans == ((53, 62), (64, 72))
    assert texts(corpus) == [["Line two.", "2. Term."]]
    assert [item.reason for item in corpus.funnels["evidence"]] == [""]


@pytest.mark.parametrize(("newlines", "start", "end"), [("universal", 5, 9), ("kept", 7, 11)])
def test_crlf_files_are_addressed_as_their_offsets_were_counted(tmp_path, newlines, start, end):
    files = {"a.txt": b"one\r\n\r\ntwo!\r\nmore"}
    corpus = make(tmp_path, [asked(snippet("a.txt", start, end, answer="two!"))], files, newlines=newlines)
    assert corpus.documents[0].text == "one\n\ntwo!\nmore"
    assert corpus.queries[0].spans == ((5, 9),)


def test_a_byte_order_mark_is_a_character_of_the_file_but_not_of_the_text(tmp_path):
    files = {"a.txt": b"\xef\xbb\xbfone two"}
    corpus = make(tmp_path, [asked(snippet("a.txt", 5, 8, answer="two"))], files)
    assert corpus.documents[0].text == "one two"
    assert corpus.queries[0].spans == ((4, 7),)
    corpus = make(tmp_path, [asked(snippet("a.txt", 4, 7, answer="two"))], files, encoding="utf-8-sig")
    assert corpus.queries[0].spans == ((4, 7),)


def test_file_names_match_in_either_unicode_form(tmp_path):
    composed, decomposed = (unicodedata.normalize(form, "café.txt") for form in ("NFC", "NFD"))
    corpus = make(tmp_path, [asked(snippet(composed, 0, 3))], {decomposed: "one two"})
    assert corpus.documents[0].doc_id == unicodedata.normalize("NFC", "café")


def test_evidence_in_two_files_is_dropped_or_split(tmp_path):
    both = asked(snippet("cuad/lease.txt", 4, 9), snippet("cuad/My NDA.txt", 0, 3))
    one = asked(snippet("cuad/lease.txt", 4, 9))
    corpus = make(tmp_path, [both, one, asked()])
    assert [query.query_id for query in corpus.queries] == ["cuad:2"]
    assert [(item.item_id, item.reason) for item in corpus.funnels["queries"]] == [
        ("cuad:1", "several_documents: cuad/lease, cuad/My_NDA"),
        ("cuad:2", ""),
        ("cuad:3", "no_evidence"),
    ]
    corpus = make(tmp_path, [both], several_documents="split")
    assert [(query.query_id, query.doc_id, query.spans) for query in corpus.queries] == [
        ("cuad:1@1", "cuad/lease", ((4, 9),)),
        ("cuad:1@2", "cuad/My_NDA", ((0, 3),)),
    ]
    assert verify(corpus) == []


def test_the_stage_writes_it_and_one_document_is_enough(tmp_path):
    options = write(tmp_path, [asked(snippet("a.txt", 0, 3))], {"a.txt": "one two"})
    out = tmp_path / "out"
    stage(options, out)
    assert pl.read_parquet(out / "documents.parquet")["doc_id"].to_list() == ["a"]
    assert pl.read_parquet(out / "queries.parquet")["spans"].to_list() == [[{"start": 0, "end": 3}]]
    assert pl.read_parquet(out / "headings.parquet").height == 0
    assert sorted(path.name for path in (out / "funnel").iterdir()) == [
        "corpus.parquet",
        "evidence.parquet",
        "queries.parquet",
    ]


def stage(options, out):
    build_corpus(
        "mine",
        {"legalbench": options},
        str(out / "documents.parquet"),
        str(out / "headings.parquet"),
        str(out / "queries.parquet"),
        str(out / "funnel"),
    )


GOOD = snippet("cuad/lease.txt", 4, 9)
BAD_TESTS = {
    "span past the end": (
        [asked(GOOD), asked(GOOD, snippet("cuad/lease.txt", 4, 23))],
        r"test 2, snippet 2: .*22 char",
    ),
    "reversed span": ([asked(snippet("cuad/lease.txt", 9, 4))], r"test 1, snippet 1: span \[9, 4\)"),
    "span of words": ([asked(snippet("cuad/lease.txt", "4", 9))], r"test 1, snippet 1: a span is two whole numbers"),
    "span of one": ([asked({"file_path": "cuad/lease.txt", "span": [4]})], r"test 1, snippet 1: span must be"),
    "other answer": (
        [asked(snippet("cuad/lease.txt", 4, 9, answer="Lease"))],
        r"snippet 1: .*reads 'lease', not 'Lease'",
    ),
    "unknown file": ([asked(snippet("cuad/none.txt", 4, 9))], r"test 1, snippet 1: no file cuad/none\.txt"),
    "white space": ([asked(snippet("cuad/My NDA.txt", 24, 26))], r"test 1: no evidence of query cuad:1"),
    "blank query": ([asked(GOOD, query=" ")], r"test 1: query must be a non-blank string"),
    "no snippets": ([{"query": "What?"}], r"test 1: snippets must be a list"),
    "no test": ([], r"cuad\.json: a benchmark is .* at least one test"),
    "nothing left": ([asked()], r"cuad\.json: none of 1 tests has a snippet"),
    "all dropped": ([asked(GOOD, snippet("cuad/My NDA.txt", 0, 3))], r"no query is left \(several_documents 1\)"),
}


@pytest.mark.parametrize("case", BAD_TESTS)
def test_bad_tests_are_named_and_write_nothing(tmp_path, case):
    tests, message = BAD_TESTS[case]
    options = write(tmp_path, tests)
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


BAD_FILES = {
    "wrong encoding": ({"cuad/lease.txt": b"caf\xe9 lease"}, r"lease\.txt: not utf-8 at byte 3"),
    "no file": ({}, r"corpus: no \.txt file in it"),
    "empty corpus": ({"cuad/lease.txt": " \n\n"}, r"the corpus is empty"),
    "same id": ({"cuad/lease.txt": LEASE, "a b.txt": "x", "a  b.txt": "y"}, r"document id a_b occurs twice"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_named_and_write_nothing(tmp_path, case):
    files, message = BAD_FILES[case]
    options = write(tmp_path, [asked(GOOD)], files)
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_benchmark_and_folder_and_broken_json_are_named(tmp_path):
    options = write(tmp_path, [asked(GOOD)])
    with pytest.raises(CorpusError, match=r"none\.json: no such file"):
        build(Options(benchmarks=[str(tmp_path / "none.json")], folder=options["folder"]))
    with pytest.raises(CorpusError, match="nowhere: no such folder"):
        build(Options(benchmarks=options["benchmarks"], folder=str(tmp_path / "nowhere")))
    (tmp_path / "cuad.json").write_text('{"tests": [\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"cuad\.json, line 2: not JSON"):
        build(Options(**options))


def test_two_benchmarks_of_one_name_are_refused(tmp_path):
    options = write(tmp_path, [asked(GOOD)])
    with pytest.raises(CorpusError, match="query id cuad:1 occurs twice"):
        build(Options(benchmarks=options["benchmarks"] * 2, folder=options["folder"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"benchmarks": "a.json"}, "benchmarks: a list"),
        ({"benchmarks": []}, "benchmarks: a list"),
        ({"documents": "some"}, "documents: 'some' is none of referenced, all"),
        ({"several_documents": "join"}, "several_documents: 'join' is none of drop, split"),
        ({"encoding": "utf-9"}, "encoding: 'utf-9'"),
        ({"newlines": "lf"}, "newlines: 'lf' is none of universal, kept"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Options(**{"benchmarks": ["a.json"], "folder": "f", **options})


def test_half_of_a_surrogate_pair_is_named(tmp_path):
    test = asked(snippet("cuad/lease.txt", 0, 3))
    with pytest.raises(CorpusError, match=r"cuad.json: tests\[1\].query: half of a surrogate pair"):
        make(tmp_path, [test, {**test, "query": "a\ud800"}])
