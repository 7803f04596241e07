"""Exports read by other tools: ir_measures on the TREC and BEIR files, `datasets` on the hub folder."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import ir_measures
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, alpha_nDCG, nDCG

from docstructure.contracts.chunks import CHUNK_ID, CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.routing import ROUTING
from docstructure.contracts.scores import SCORES
from docstructure.contracts.views import VIEWS
from docstructure.exports.beir import export_beir
from docstructure.exports.hub import export_hub
from docstructure.exports.judgements import subtopic_qrels
from docstructure.exports.trec import export_trec, run_lines
from docstructure.scoring import build_scores

METRICS = ["cov_ndcg@10", "ndcg@10", "mrr"]


class Study:
    """A random small corpus with one chunk set and one ranking, as artifacts in a folder."""

    def __init__(self, folder, seed, whole_chunks=False):
        self.folder = folder
        rng = random.Random(seed)
        documents, chunks, self.queries = [], [], []
        for doc in range(4):
            lengths = [rng.randint(5, 60) for _ in range(rng.randint(1, 12))]
            edges = np.concatenate([[0], np.cumsum(lengths)]).tolist()
            text = "".join(rng.choice("abc é中😀") for _ in range(edges[-1]))
            documents.append(
                {"doc_id": f"d{doc}", "title": f"T {doc}", "text": text, "paragraphs": [{"start": 0, "end": edges[-1]}]}
            )
            chunks += [{"doc_id": f"d{doc}", "start": a, "end": b} for a, b in pairwise(edges)]
            for number in range(3):
                spans = self._whole(rng, edges) if whole_chunks else self._any(rng, edges[-1])
                self.queries.append(
                    {
                        "query_id": f"q{doc}.{number}",
                        "doc_id": f"d{doc}",
                        "query": "wie “so”?",
                        "type": "t",
                        "spans": spans,
                    }
                )
        documents.append(
            {"doc_id": "out", "title": "", "text": "not in the index", "paragraphs": [{"start": 0, "end": 16}]}
        )
        out = {"query_id": "out", "doc_id": "out", "query": "?", "type": "t", "spans": [{"start": 0, "end": 3}]}
        self.chunks = pl.DataFrame(
            chunks, schema={"doc_id": pl.String, "start": pl.Int64, "end": pl.Int64}
        ).with_columns(
            chunk_id=CHUNK_ID,
            n_tokens=pl.lit(7, pl.Int32),
            path=pl.lit(None, pl.List(pl.String)),
            top_section=pl.lit(None, pl.Int32),
        )
        ids = self.chunks["chunk_id"].to_list()
        rows = []
        for query in self.queries:
            ranked = rng.sample(ids, min(15, len(ids)))
            # Raw scores that rise and fall, with ties, as after backfill.
            rows += [
                {
                    "query_id": query["query_id"],
                    "rank": rank,
                    "chunk_id": chunk_id,
                    "score": rng.choice([0.1, 0.5, 0.9]),
                }
                for rank, chunk_id in enumerate(ranked, 1)
            ]
        rng.shuffle(rows)
        self.ranking = RANKING.frame(rows)
        DOCUMENTS.write(DOCUMENTS.frame(documents), self.path("documents"))
        QUERIES.write(QUERIES.frame([*self.queries, out]), self.path("queries"))
        CHUNKS.write(self.chunks, self.path("chunks"))
        RANKING.write(self.ranking, self.path("ranking"))
        self.view = VIEWS.frame(
            [
                {"chunk_id": chunk_id, "prefix": "[T] ", "n_prefix_tokens": 3, "prefix_truncated": False}
                for chunk_id in reversed(ids)
            ]
        )
        VIEWS.write(self.view, self.path("view"))

    @staticmethod
    def _any(rng, length):
        edges = sorted(rng.sample(range(length + 1), 2 * rng.randint(1, 2)))
        return [{"start": a, "end": b} for a, b in zip(edges[::2], edges[1::2], strict=True)]

    @staticmethod
    def _whole(rng, edges):
        chosen = sorted(rng.sample(range(len(edges) - 1), min(len(edges) - 1, rng.randint(1, 5))))
        return [{"start": edges[i], "end": edges[i + 1]} for i in chosen]

    def path(self, name):
        return str(self.folder / f"{name}.parquet")

    def export(self):
        files = {name: str(self.folder / f"{name}.txt") for name in ("run", "qrels", "subtopics")}
        export_trec(self.path("ranking"), self.path("queries"), self.path("chunks"), **files)
        return files

    def scores(self):
        """Return our scores of the cell, by the scoring stage itself."""
        ids = [query["query_id"] for query in self.queries]
        expected = pl.DataFrame({"query_id": ids, "vector": np.ones((len(ids), 2), dtype=np.float32)})
        QUERY_VECTORS.write(expected, self.path("expected"))
        ROUTING.write(ROUTING.frame([]), self.path("routing"))
        names = ("queries", "chunks", "view", "ranking", "routing", "expected", "scores")
        build_scores(metrics=METRICS, section=None, **{name: self.path(name) for name in names})
        return SCORES.read(self.path("scores"))


def read_lines(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def theirs(measure, qrels, run):
    return {
        metric.query_id: metric.value
        for metric in ir_measures.iter_calc(
            [measure], list(ir_measures.read_trec_qrels(qrels)), list(ir_measures.read_trec_run(run))
        )
    }


def ours(study, metric):
    return dict(study.scores().select("query_id", metric).iter_rows())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("measure", "metric"), [(nDCG @ 10, "ndcg@10"), (RR, "mrr")])
def test_ir_measures_agrees_with_our_binary_metrics(tmp_path, seed, measure, metric):
    study = Study(tmp_path, seed)
    files = study.export()
    found = theirs(measure, files["qrels"], files["run"])
    assert found == pytest.approx(ours(study, metric), abs=1e-9)
    assert len(found) == 12
    assert any(found.values())


@pytest.mark.parametrize("seed", range(8))
def test_alpha_ndcg_agrees_with_coverage_ndcg_where_spans_are_whole_chunks(tmp_path, seed):
    study = Study(tmp_path, seed, whole_chunks=True)
    files = study.export()
    found = theirs(alpha_nDCG(alpha=1.0) @ 10, files["subtopics"], files["run"])
    expected = ours(study, "cov_ndcg@10")
    assert found == pytest.approx(expected, abs=1e-6)
    assert any(0 < value < 1 for value in expected.values())


def test_a_run_falls_strictly_although_raw_scores_do_not(tmp_path):
    study = Study(tmp_path, 1)
    lines = [line.split(" ") for line in read_lines(study.export()["run"])]
    assert {len(line) for line in lines} == {6}
    assert len(lines) == study.ranking.height
    by_query = {}
    for query_id, q0, chunk_id, rank, score, tag in lines:
        assert (q0, tag) == ("Q0", "docstructure")
        by_query.setdefault(query_id, []).append((int(rank), float(score), chunk_id))
    for query_id, ranked in by_query.items():
        assert [rank for rank, _, _ in ranked] == list(range(1, len(ranked) + 1))
        assert all(before > after > 0 for (_, before, _), (_, after, _) in pairwise(ranked))
        raw = study.ranking.filter(query_id=query_id).sort("rank")
        assert [chunk_id for _, _, chunk_id in ranked] == raw["chunk_id"].to_list()


def brute_relevance(study):
    """Return chunk relevance by the words of the paper: at least half of the span, or 80 % of the chunk inside it."""
    relevant = {}
    for query in study.queries:
        for chunk in study.chunks.filter(doc_id=query["doc_id"]).iter_rows(named=True):
            for number, span in enumerate(query["spans"], 1):
                shared = len(set(range(chunk["start"], chunk["end"])) & set(range(span["start"], span["end"])))
                if shared:
                    is_relevant = (
                        shared / (span["end"] - span["start"]) >= 0.5 or shared / (chunk["end"] - chunk["start"]) >= 0.8
                    )
                    relevant[query["query_id"], number, chunk["chunk_id"]] = is_relevant
    return relevant


@pytest.mark.parametrize("seed", range(4))
def test_qrels_list_every_relevant_chunk_ranked_or_not(tmp_path, seed):
    study = Study(tmp_path, seed)
    files = study.export()
    expected = brute_relevance(study)
    subtopics = [line.split(" ") for line in read_lines(files["subtopics"])]
    assert [(q, int(number), c) for q, number, c, _ in subtopics] == [key for key, value in expected.items() if value]
    binary = [line.split(" ") for line in read_lines(files["qrels"])]
    assert {(iteration, relevance) for _, iteration, _, relevance in binary} == {("0", "1")}
    assert {(q, c) for q, _, c, _ in binary} == {(q, c) for (q, _, c), value in expected.items() if value}
    assert len(binary) == len({(q, c) for q, _, c, _ in binary})


def tiny(spans, edges):
    chunks = pl.DataFrame({"doc_id": "d", "start": edges[:-1], "end": edges[1:]}).with_columns(
        chunk_id=CHUNK_ID, n_tokens=pl.lit(1, pl.Int32)
    )
    queries = QUERIES.frame(
        [
            {
                "query_id": "q",
                "doc_id": "d",
                "query": "?",
                "type": "t",
                "spans": [{"start": a, "end": b} for a, b in spans],
            }
        ]
    )
    return queries, chunks


@pytest.mark.parametrize(
    ("span", "edges", "relevant"),
    [
        ((5, 65), [0, 25, 45, 70], [0, 1, 2]),  # a third of the span each; of the chunks 80 %, 100 %, 80 %
        ((6, 64), [0, 25, 45, 70], [1]),  # 76 % of the outer chunks
        ((20, 40), [0, 30, 80], [0, 1]),  # half of the span each
        ((20, 41), [0, 30, 80], [1]),
        ((3, 5), [0, 30], [0]),
    ],
)
def test_relevance_at_its_edges(span, edges, relevant):
    queries, chunks = tiny([span], edges)
    found = subtopic_qrels(queries, chunks)["chunk_id"].to_list()
    assert found == [chunks["chunk_id"][index] for index in relevant]


def test_chunks_that_do_not_tile_are_refused():
    with pytest.raises(
        ValueError, match="no chunk is relevant to span 2 of query q: the chunks do not tile document d"
    ):
        subtopic_qrels(*tiny([(0, 10), (90, 100)], [0, 30, 80]))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_every_span_of_a_tiling_has_a_relevant_chunk(tmp_path_factory, seed, whole_chunks):
    study = Study(tmp_path_factory.mktemp("study"), seed, whole_chunks)
    judged = subtopic_qrels(QUERIES.frame(study.queries), study.chunks)
    assert judged.is_unique().all()
    n_spans = {query["query_id"]: len(query["spans"]) for query in study.queries}
    assert dict(judged.group_by("query_id").agg(pl.col("subtopic").n_unique()).iter_rows()) == n_spans


def test_a_ranking_without_a_query_is_refused_and_nothing_written(tmp_path):
    study = Study(tmp_path, 2)
    RANKING.write(study.ranking.filter(pl.col("query_id") != "q1.0"), study.path("ranking"))
    with pytest.raises(ValueError, match=r"lacks query q1\.0; a missing query has no score"):
        study.export()
    assert list(tmp_path.glob("*.txt")) == []


def test_a_ranking_of_another_corpus_is_refused(tmp_path):
    study = Study(tmp_path, 2)
    foreign = RANKING.frame([{"query_id": "out", "rank": 1, "chunk_id": study.chunks["chunk_id"][0], "score": 1.0}])
    RANKING.write(pl.concat([study.ranking, foreign]), study.path("ranking"))
    with pytest.raises(ValueError, match="ranks query out, which is not in the queries"):
        study.export()


def test_a_ranking_of_another_chunk_set_is_refused(tmp_path):
    study = Study(tmp_path, 2)
    RANKING.write(
        study.ranking.with_columns(chunk_id=pl.when(pl.col("rank") == 3).then(pl.lit("x:1")).otherwise("chunk_id")),
        study.path("ranking"),
    )
    with pytest.raises(ValueError, match="ranks chunk x:1, which is not in the chunk set"):
        study.export()


def test_a_tag_with_a_space_is_refused(tmp_path):
    study = Study(tmp_path, 2)
    with pytest.raises(ValueError, match="tag 'two words' holds the separator"):
        export_trec(
            study.path("ranking"), study.path("queries"), study.path("chunks"),
            run=str(tmp_path / "r"), qrels=str(tmp_path / "q"), subtopics=str(tmp_path / "s"), tag="two words",
        )  # fmt: skip
    assert list(tmp_path.glob("r")) == []


def test_run_lines_do_not_depend_on_row_order(tmp_path):
    study = Study(tmp_path, 3)
    assert run_lines(study.ranking).equals(run_lines(study.ranking.reverse()))


def test_beir_folder_holds_what_is_embedded(tmp_path):
    study = Study(tmp_path, 5)
    folder = tmp_path / "beir"
    export_beir(study.path("documents"), study.path("chunks"), study.path("view"), study.path("queries"), str(folder))
    texts = dict(DOCUMENTS.read(study.path("documents")).select("doc_id", "text").iter_rows())
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert [entry["_id"] for entry in corpus] == study.chunks["chunk_id"].to_list()
    for entry in corpus:
        where = entry["metadata"]
        assert entry["title"] == ""
        assert entry["text"] == "[T] " + texts[where["doc_id"]][where["start"] : where["end"]]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert [entry["_id"] for entry in queries] == [query["query_id"] for query in study.queries]
    assert {entry["text"] for entry in queries} == {"wie “so”?"}
    header, *lines = (folder / "qrels/test.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    qrels = [ir_measures.Qrel(q, d, int(s)) for q, d, s in (line.split("\t") for line in lines)]
    run = list(ir_measures.read_trec_run(study.export()["run"]))
    found = {metric.query_id: metric.value for metric in ir_measures.iter_calc([nDCG @ 10], qrels, run)}
    assert found == pytest.approx(ours(study, "ndcg@10"), abs=1e-9)


def test_beir_refuses_a_view_of_another_chunk_set(tmp_path):
    study = Study(tmp_path, 5)
    VIEWS.write(study.view[1:], study.path("view"))
    with pytest.raises(ValueError, match="is a view of another chunk set"):
        export_beir(
            study.path("documents"),
            study.path("chunks"),
            study.path("view"),
            study.path("queries"),
            str(tmp_path / "b"),
        )
    assert not (tmp_path / "b").exists()


def scores_file(path, **columns):
    frame = pl.DataFrame({"query_id": ["a", "b"], "doc_id": ["d", "d"], "type": ["t", "t"]}).with_columns(
        section_recall=pl.lit(None, pl.Float64), **{name: pl.Series(values) for name, values in columns.items()}
    )
    SCORES.write(frame, path)
    return str(path)


def entry(path, condition="A0", **other):
    return {"corpus": "c", "condition": condition, "embedder": "e", "reranker": "none", "path": path} | other


def test_datasets_loads_the_hub_folder_offline(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    cells = [
        entry(scores_file(tmp_path / "0.parquet", **{"ndcg@10": [0.1, 0.2], "mrr": [1.0, 0.5]})),
        entry(scores_file(tmp_path / "1.parquet", **{"ndcg@10": [0.3, 0.4]}), "A3"),
    ]
    export_hub(cells, str(tmp_path / "hub"))
    loaded = datasets.load_dataset(str(tmp_path / "hub"), split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded.num_rows == 4
    assert loaded["condition"][:] == ["A0", "A0", "A3", "A3"]
    assert loaded["ndcg@10"][:] == [0.1, 0.2, 0.3, 0.4]
    assert loaded["mrr"][:] == [1.0, 0.5, None, None]
    card = (tmp_path / "hub/README.md").read_text(encoding="utf-8")
    assert "4 rows of 2 cells (c)" in card
    assert "`ndcg@10`" in card


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "no scores to export"),
        ([{"corpus": "c", "path": "x"}], "lacks condition, embedder, reranker"),
        ([entry("{file}"), entry("{file}")], "cell c/A0/e/none is given twice"),
    ],
)
def test_hub_refuses_what_is_no_set_of_cells(tmp_path, cells, message):
    path = scores_file(tmp_path / "s.parquet", mrr=[1.0, 0.5])
    cells = [{key: value.replace("{file}", path) for key, value in cell.items()} for cell in cells]
    with pytest.raises(ValueError, match=message):
        export_hub(cells, str(tmp_path / "hub"))
    assert not (tmp_path / "hub").exists()


def test_exports_are_the_same_bytes_twice(tmp_path):
    study = Study(tmp_path, 7)
    first = {name: Path(path).read_bytes() for name, path in study.export().items()}
    assert {name: Path(path).read_bytes() for name, path in study.export().items()} == first
