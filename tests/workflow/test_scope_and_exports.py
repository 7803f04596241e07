"""Document scope beside corpus scope, and the exports that other tools read, as a user asks for them."""

import polars as pl
import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

CELL = "cells/{}/all-minilm-l6-v2/none"
IN_DOCUMENT = """\
definitions:
  retrieval:
    flat_in_document: {flat: {scope: document}}
    two_stage_in_document: {two_stage: {scope: document}}
  conditions:
    A3-doc: {boundaries: induced, prefix: path3, retrieval: flat_in_document}
    A4-doc: {boundaries: induced, prefix: path3, retrieval: two_stage_in_document}
"""


def test_document_scope_ranks_the_same_vectors_within_the_querys_document(copy):
    copy.edit("tiny.yaml", "P, A4, G3]", "P, A4, G3, A3-doc, A4-doc]")
    copy.edit("tiny.yaml", "definitions:\n", IN_DOCUMENT)
    targets = [str(copy.path(f"tiny/{CELL.format(name)}/scores.parquet")) for name in ("A3-doc", "A4-doc")]
    targets = [target.removeprefix(f"{copy.folder}/") for target in targets]
    assert copy.planned("--", *targets) == {"rank": 2, "score": 2}
    copy.run("--", *targets)

    home = pl.read_parquet(copy.path("tiny/queries.parquet")).select("query_id", "doc_id")
    chunks = pl.read_parquet(copy.path("tiny/chunks/induced.parquet")).select("chunk_id", chunk_doc="doc_id")
    wide = pl.read_parquet(copy.path(f"tiny/{CELL.format('A3')}/ranking.parquet"))
    for name in ("A3-doc", "A4-doc"):
        ranking = pl.read_parquet(copy.path(f"tiny/{CELL.format(name)}/ranking.parquet"))
        joined = ranking.join(home, on="query_id").join(chunks, on="chunk_id")
        assert joined.height == ranking.height
        assert (joined["doc_id"] == joined["chunk_doc"]).all()
        expected = min(20, chunks.filter(pl.col("chunk_doc") == "kite").height)
        assert ranking.filter(pl.col("query_id") == home.filter(doc_id="kite")["query_id"][0]).height == expected

    # the flat one is the wide ranking without the other documents' chunks, as far as that one reaches
    narrow = pl.read_parquet(copy.path(f"tiny/{CELL.format('A3-doc')}/ranking.parquet"))
    kept = wide.join(home, on="query_id").join(chunks, on="chunk_id").filter(pl.col("doc_id") == pl.col("chunk_doc"))
    for query_id, of_query in kept.sort("rank").group_by("query_id", maintain_order=True):
        ours = narrow.filter(query_id=query_id[0]).sort("rank")
        assert ours["chunk_id"].head(of_query.height).to_list() == of_query["chunk_id"].to_list()
        assert ours["score"].head(of_query.height).to_list() == of_query["score"].to_list()


def test_exports_agree_with_the_scores_when_ir_measures_reads_them(copy):
    import ir_measures

    copy.run("--", "export")
    scores = pl.read_parquet(copy.path(f"tiny/{CELL.format('A3')}/scores.parquet"))
    folder = copy.path("tiny/exports/trec/A3/all-minilm-l6-v2/none")
    run = list(ir_measures.read_trec_run(str(folder / "run.txt")))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    theirs = {
        (str(value.measure), value.query_id): value.value
        for value in ir_measures.iter_calc([ir_measures.nDCG @ 10, ir_measures.RR], qrels, run)
    }
    for row in scores.iter_rows(named=True):
        assert row["ndcg@10"] == pytest.approx(theirs["nDCG@10", row["query_id"]], abs=1e-9)
        assert row["mrr"] == pytest.approx(theirs["RR", row["query_id"]], abs=1e-9)
    assert {path.name for path in copy.path("tiny/exports/beir").iterdir()} >= {"induced.path3", "fixed.none"}
    assert any(copy.path("report/hub").iterdir())
