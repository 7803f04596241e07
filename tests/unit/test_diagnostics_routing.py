"""Section recall by inventory, against a search of each inventory by hand."""

import numpy as np
import polars as pl
import pytest

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.scores import SCORES
from docstructure.contracts.section_recall import SECTION_RECALL
from docstructure.contracts.vectors import VECTORS
from docstructure.contracts.views import VIEWS
from docstructure.diagnostics.routing import build_section_recall, recall_of
from docstructure.retrieval.stage import build_ranking
from docstructure.scoring import build_scores

WIDTH, N_DOCUMENTS, PER_DOCUMENT = 6, 9, 7
TWO_STAGE = {"two_stage": {"sections": 2, "section": "top_level", "scope": "corpus"}}


def unit(rng, n):
    vectors = rng.normal(size=(n, WIDTH)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def cell(tmp_path):
    rng = np.random.default_rng(8)
    rows = [
        (
            f"d{doc}:{place * 10:09d}-{place * 10 + 10:09d}",
            f"d{doc}",
            place * 10,
            place * 10 + 10,
            10,
            [f"S{place // 2}"],
            place // 2,
        )
        for doc in range(N_DOCUMENTS)
        for place in range(PER_DOCUMENT)
    ]
    chunks = CHUNKS.frame(rows)
    queries = QUERIES.frame(
        [
            (
                f"q{number}",
                f"d{number % N_DOCUMENTS}",
                "why?",
                "t",
                [{"start": (number * 7) % 60, "end": (number * 7) % 60 + 8}],
            )
            for number in range(40)
        ]
    )
    vectors = pl.DataFrame({"chunk_id": chunks["chunk_id"], "vector": unit(rng, chunks.height)})
    asked = pl.DataFrame({"query_id": queries["query_id"], "vector": unit(rng, queries.height)})
    CHUNKS.write(chunks, tmp_path / "chunks")
    QUERIES.write(queries, tmp_path / "queries")
    VECTORS.write(vectors, tmp_path / "vectors")
    QUERY_VECTORS.write(asked, tmp_path / "asked")
    return tmp_path


def build(cell, definition=TWO_STAGE, **changes):
    arguments = {
        "queries": str(cell / "queries"),
        "cells": [{"condition": "A4", "embedder": "e", "definition": definition}],
        "chunk_files": [str(cell / "chunks")],
        "vector_files": [str(cell / "vectors")],
        "query_vector_files": [str(cell / "asked")],
        "document_shares": [0, 0.25, 0.5, 1],
        "draws": 20,
        "seed": 1,
        "table": str(cell / "table"),
    }
    build_section_recall(**(arguments | changes))
    return SECTION_RECALL.read(cell / "table")


def scored(cell, definition, documents=None):
    """Section recall as the workflow's own retrieval and scoring give it, over some of the documents."""
    chunks, vectors = CHUNKS.read(cell / "chunks"), VECTORS.read(cell / "vectors")
    if documents is not None:
        chunks = chunks.filter(pl.col("doc_id").is_in(documents))
        vectors = vectors.join(chunks, on="chunk_id", how="semi", maintain_order="left")
    queries = QUERIES.read(cell / "queries").join(chunks, on="doc_id", how="semi", maintain_order="left")
    asked = QUERY_VECTORS.read(cell / "asked").join(queries, on="query_id", how="semi", maintain_order="left")
    for contract, frame, name in (
        (CHUNKS, chunks, "c"),
        (VECTORS, vectors, "v"),
        (QUERY_VECTORS, asked, "a"),
        (QUERIES, queries, "q"),
    ):
        contract.write(frame, cell / name)
    VIEWS.write(VIEWS.frame([(chunk, "", 0, False, None) for chunk in chunks["chunk_id"]]), cell / "view")
    files = {
        "queries": str(cell / "q"),
        "chunks": str(cell / "c"),
        "ranking": str(cell / "r"),
        "routing": str(cell / "o"),
    }
    build_ranking(definition, vectors=str(cell / "v"), query_vectors=str(cell / "a"), top_k=10, threads=1, **files)
    build_scores(
        metrics=["mrr"],
        view=str(cell / "view"),
        expected=str(cell / "a"),
        scores=str(cell / "s"),
        section="top_level",
        **files,
    )
    return SCORES.read(cell / "s")


def test_the_whole_corpus_has_the_recall_of_the_cell(cell):
    row = build(cell).filter(document_share=1).row(0, named=True)
    assert row["section_recall"] == scored(cell, TWO_STAGE)["section_recall"].mean()
    assert 0 < row["section_recall"] < 1
    assert (row["n_documents"], row["n_sections"], row["n_queries"], row["n_draws"]) == (9, 9 * 4, 40, 1)


def test_own_document_alone_has_the_recall_of_document_scope(cell):
    own = {"two_stage": TWO_STAGE["two_stage"] | {"scope": "document"}}
    row = build(cell).filter(document_share=0).row(0, named=True)
    assert row["section_recall"] == scored(cell, own)["section_recall"].mean()
    assert (row["n_documents"], row["n_sections"]) == (1, 4)
    assert build(cell, own).select("document_share", "section_recall").rows() == [(0, row["section_recall"])]


def test_recall_falls_as_the_inventory_grows(cell):
    recalls = build(cell)["section_recall"].to_list()
    assert recalls == sorted(recalls, reverse=True)


def test_a_part_of_the_documents_is_as_if_only_they_were_indexed(cell):
    from docstructure.diagnostics.routing import count_before, evidence_sections
    from docstructure.retrieval.stage import read_index, read_queries

    index = read_index(str(cell / "chunks"), str(cell / "vectors"))
    asked = read_queries(str(cell / "queries"), str(cell / "asked"), index)
    sections, gold = evidence_sections(index, asked, QUERIES.read(cell / "queries"), "top_level")
    before, sizes, own = count_before(sections, asked, gold)
    kept = np.array([doc in {1, 4, 6} for doc in range(N_DOCUMENTS)])
    inside = kept[own]
    expected = scored(cell, TWO_STAGE, ["d1", "d4", "d6"])["section_recall"].mean()
    assert recall_of(before[inside], sizes, own[inside], kept, 2) == (expected, 12)


def test_flat_cells_have_no_row_and_bad_shares_are_refused(cell):
    assert build(cell, {"flat": {"scope": "corpus"}}).is_empty()
    with pytest.raises(ValueError, match="shares are in"):
        build(cell, document_shares=[2])
