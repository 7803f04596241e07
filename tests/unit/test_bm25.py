"""BM25 against rank_bm25, to the bit, and BM25 gold-top-1."""

import math
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from docstructure.bm25 import Index, Parameters
from docstructure.chunking.chunk import Chunk, to_frame
from docstructure.contracts.bm25 import BM25
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.corpora.corpus import documents_frame, queries_frame
from docstructure.corpora.markdown import Options, build
from docstructure.nonlexicality import build_bm25, probe, summary
from docstructure.words import words

DEMO = Path(__file__).parents[2] / "resources" / "demo"

texts = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), min_size=1, max_size=9)


@given(
    texts=texts.filter(any),
    query=st.lists(st.sampled_from("abcdefghxyz"), max_size=6),
    b=st.sampled_from([0, 0.75, 0.9]),
)
@settings(max_examples=200, deadline=None)
def test_scores_are_rank_bm25s_to_the_bit(texts, query, b):
    parameters = Parameters(1.2, b, 0.25)
    expected = BM25Okapi(texts, k1=1.2, b=b, epsilon=0.25).get_scores(query)
    assert np.array_equal(Index(texts, parameters).scores(query), expected)


@cache
def demo():
    """Return the demo's documents, queries and paragraph chunks."""
    corpus = build(Options(str(DEMO), articles="articles/*.md"))
    chunks, lengths = {}, {}
    for document in corpus.documents:
        edges = [start for start, _ in document.paragraphs] + [len(document.text)]
        chunks[document.doc_id] = [Chunk(a, b, 50) for a, b in pairwise(edges)]
        lengths[document.doc_id] = len(document.text)
    return documents_frame(corpus.documents), queries_frame(corpus.queries), to_frame(chunks, lengths)


def test_the_top_chunk_is_rank_bm25s_on_real_text():
    documents, queries, chunks = demo()
    ordered = chunks.sort("chunk_id")
    text = dict(documents.select("doc_id", "text").iter_rows())
    tokenized = [words(text[d][a:b]) for d, a, b in ordered.select("doc_id", "start", "end").iter_rows()]
    peer = BM25Okapi(tokenized)
    found = probe(documents, queries, chunks)
    expected = [int(np.argmax(peer.get_scores(words(query)))) for query in queries["query"]]
    assert found["chunk_id"].to_list() == [ordered["chunk_id"][row] for row in expected]
    assert len(tokenized) > 400
    assert queries.height > 100


def test_gold_top_1_is_relevance_by_hand():
    """Paper C: a chunk is relevant when it covers half of a span, or lies to 80 % inside one."""
    documents, queries, chunks = demo()
    found = probe(documents, queries, chunks)
    bounds = {
        chunk_id: (doc, a, b) for chunk_id, doc, a, b in chunks.select("chunk_id", "doc_id", "start", "end").iter_rows()
    }
    spans = dict(queries.select("query_id", "spans").iter_rows())
    docs = dict(queries.select("query_id", "doc_id").iter_rows())
    for query_id, chunk_id, relevant in found.select("query_id", "chunk_id", "relevant").iter_rows():
        doc, start, end = bounds[chunk_id]
        shared = [max(0, min(end, s["end"]) - max(start, s["start"])) for s in spans[query_id]]
        by_hand = doc == docs[query_id] and any(
            n >= 0.5 * (s["end"] - s["start"]) or n >= 0.8 * (end - start)
            for n, s in zip(shared, spans[query_id], strict=True)
        )
        assert relevant == by_hand
    assert 0.05 < found["relevant"].mean() < 0.95


def test_a_word_in_half_of_the_texts_adds_nothing_and_in_more_a_little():
    index = Index([["half", "most"], ["half", "most"], ["most", "rare"], ["other"]])
    assert index.scores(["half"]).tolist() == [0, 0, 0, 0]
    assert index.top(["half"]) is None
    idf = {n: math.log(4 - n + 0.5) - math.log(n + 0.5) for n in (1, 2, 3)}
    epsilon = 0.25 * (idf[2] + idf[3] + idf[1] + idf[1]) / 4
    assert idf[3] < 0 < epsilon
    mean = 7 / 4
    weight = 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / mean))
    assert index.scores(["most"]) == pytest.approx([epsilon * weight] * 3 + [0])
    assert index.top(["most"]) == (0, pytest.approx(epsilon * weight))


def test_unknown_words_are_a_miss():
    index = Index([["a"], ["b"], ["c"], []])
    assert index.top(["z"]) is None
    assert index.top([]) is None
    assert index.top(["z", "c"])[0] == 2
    assert len(index) == 4


def test_negative_floors_are_a_miss_too():
    """Where most words are in most texts, rank_bm25's floor is below 0: no match is better than one."""
    low = Index([["a"], ["a"], ["a"]])
    assert low.scores(["a"]).max() < 0
    assert low.top(["a"]) is None


def test_repeated_words_count_each_time():
    index = Index([["a", "x"], ["b"], ["c"]])
    assert index.scores(["a", "a"]) == pytest.approx(2 * index.scores(["a"]))


def test_no_word_at_all_is_an_error():
    with pytest.raises(ValueError, match="a text with a word"):
        Index([[], []])


def write(folder, rows, queries):
    """Write documents of one paragraph each; `rows` are (doc_id, chunk texts)."""
    documents, chunks = [], {}
    for doc_id, parts in rows:
        text, edges = "".join(parts), [0]
        for part in parts:
            edges.append(edges[-1] + len(part))
        documents.append({
            "doc_id": doc_id, "title": "", "text": text, "paragraphs": [{"start": 0, "end": len(text)}],
            "source": None, "topic": None,
        })  # fmt: skip
        chunks[doc_id] = [Chunk(a, b, 1) for a, b in pairwise(edges)]
    lengths = {row["doc_id"]: len(row["text"]) for row in documents}
    DOCUMENTS.write(DOCUMENTS.frame(documents), folder / "documents")
    CHUNKS.write(to_frame(chunks, lengths), folder / "chunks")
    QUERIES.write(
        QUERIES.frame(
            [
                {"query_id": q, "doc_id": d, "query": text, "type": t, "spans": [{"start": a, "end": b}]}
                for q, d, text, t, (a, b) in queries
            ]
        ),
        folder / "queries",
    )
    build_bm25(**{name: str(folder / name) for name in ("documents", "queries", "chunks", "bm25")})
    return BM25.read(folder / "bm25")


def test_the_stage(tmp_path, capsys):
    rows = [("b", ["same words. ", "tea leaf. "]), ("a", ["same words. ", "cat mat. "])]
    found = write(
        tmp_path,
        rows,
        [
            ("q1", "b", "tea?", "factoid", (12, 20)),
            ("q2", "b", "words", "factoid", (0, 10)),
            ("q3", "a", "unknown", "multihop", (0, 10)),
            ("q4", "gone", "tea", "multihop", (0, 10)),
            ("q5", "a", "leaf", "multihop", (12, 20)),
        ],
    )
    # "same" and "words" are in half of the chunks: they score 0
    assert found.rows() == [
        ("q1", "factoid", "b:000000012-000000022", found["score"][0], True),
        ("q2", "factoid", None, 0.0, False),
        ("q3", "multihop", None, 0.0, False),
        ("q5", "multihop", "b:000000012-000000022", found["score"][3], False),
    ]
    assert capsys.readouterr().err.splitlines() == [
        "BM25 gold-top-1, all: 25.0% of 4 queries (2 without any match)",
        "BM25 gold-top-1, factoid: 50.0% of 2 queries (1 without any match)",
        "BM25 gold-top-1, multihop: 0.0% of 2 queries (1 without any match)",
    ]


def test_ties_go_to_the_smaller_chunk_id(tmp_path):
    rows = [("b", ["tea here. ", "one two. ", "x y. "]), ("a", ["tea here. ", "three four. ", "z w. "])]
    found = write(tmp_path, rows, [("q", "b", "tea", "t", (0, 9))])
    assert found.select("chunk_id", "relevant").row(0) == ("a:000000000-000000010", False)


def test_only_misses(tmp_path):
    found = write(tmp_path, [("a", ["cat mat. "])], [("q", "a", "dog", "t", (0, 3))])
    assert found["relevant"].to_list() == [False]
    assert next(iter(summary(found))) == "BM25 gold-top-1, all: 0.0% of 1 queries (1 without any match)"


def test_no_query_in_the_chunks_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no query is on a document"):
        write(tmp_path, [("a", ["cat mat. "])], [("q", "gone", "dog", "t", (0, 3))])


def test_the_contract_refuses_a_relevant_miss(tmp_path):
    frame = BM25.frame({"query_id": ["q"], "type": ["t"], "chunk_id": [None], "score": [0.0], "relevant": [True]})
    with pytest.raises(ValueError, match="a miss is relevant"):
        BM25.write(frame.with_columns(pl.col("chunk_id").cast(pl.String)), tmp_path / "bm25")
