"""The scoring stage: what it writes, and what it refuses (each message names the file and the first bad id)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contract import ContractError
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.routing import ROUTING
from docstructure.contracts.scores import SCORES
from docstructure.contracts.views import VIEWS
from docstructure.scoring import ScoringError, build_scores

METRICS = ["cov_ndcg@10", "ndcg@10", "recall@50", "mrr", "coverage@20t"]
LIBRARY = Path(__file__).resolve().parents[2] / "workflow" / "scripts"


def chunk_id(doc, start, end):
    return f"{doc}:{start:09d}-{end:09d}"


def chunk(doc, start, end, n_tokens=10, top_section=0):
    return {
        "chunk_id": chunk_id(doc, start, end),
        "doc_id": doc,
        "start": start,
        "end": end,
        "n_tokens": n_tokens,
        "path": None,
        "top_section": top_section,
    }


def query(query_id, doc, *spans):
    return {
        "query_id": query_id,
        "doc_id": doc,
        "query": "What?",
        "type": "why",
        "spans": [{"start": start, "end": end} for start, end in spans],
    }


def ranked(query_id, *chunks):
    return [
        {"query_id": query_id, "rank": rank, "chunk_id": chunk_id(*span), "score": 1.0, "routed": None}
        for rank, span in enumerate(chunks, 1)
    ]


class CellFiles:
    """The input files of one cell: change a list, then `score`."""

    def __init__(self, folder):
        self.folder = folder
        # Documents whose ids do not sort as they are written, and one whose id is a prefix of another's.
        self.chunks = [
            chunk("b", 0, 50, top_section=0),
            chunk("b", 50, 100, top_section=1),
            chunk("a", 0, 80, top_section=0),
            chunk("a.1", 0, 30, top_section=0),
        ]
        self.queries = [query("q2", "b", (40, 60)), query("q1", "a", (10, 20)), query("idle", "gone", (0, 5))]
        self.expected = ["q1", "q2"]
        self.ranking = [
            *ranked("q1", ("a", 0, 80), ("b", 0, 50)),
            *ranked("q2", ("a.1", 0, 30), ("b", 50, 100), ("b", 0, 50)),
        ]
        self.prefix_tokens = None
        self.routing = []

    def view(self):
        tokens = self.prefix_tokens or {row["chunk_id"]: 0 for row in self.chunks}
        return [
            {
                "chunk_id": name,
                "prefix": "p " if count else "",
                "n_prefix_tokens": count,
                "prefix_truncated": False,
                "donor_doc_id": None,
            }
            for name, count in tokens.items()
        ]

    def score(self, metrics=METRICS, section=None):
        for name, contract, rows in (
            ("queries", QUERIES, self.queries),
            ("chunks", CHUNKS, self.chunks),
            ("view", VIEWS, self.view()),
            ("ranking", RANKING, self.ranking),
            ("routing", ROUTING, self.routing),
        ):
            contract.frame(rows).write_parquet(self.folder / f"{name}.parquet")
        vectors = pl.Series("vector", np.ones((len(self.expected), 2), dtype=np.float32))
        pl.DataFrame([pl.Series("query_id", self.expected), vectors]).write_parquet(self.folder / "expected.parquet")
        paths = {
            name: str(self.folder / f"{name}.parquet")
            for name in ("queries", "chunks", "view", "ranking", "routing", "expected", "scores")
        }
        if section is None and self.routing:
            section = "top_level"
        section = section or None
        build_scores(metrics=metrics, section=section, **paths)
        return SCORES.read(paths["scores"])


@pytest.fixture
def cell(tmp_path):
    return CellFiles(tmp_path)


def test_scores_hold_the_expected_queries_in_the_order_of_the_queries(cell):
    scores = cell.score()
    assert scores.columns == ["query_id", "doc_id", "type", "section_recall", *METRICS]
    assert scores["query_id"].to_list() == ["q2", "q1"]
    assert scores["doc_id"].to_list() == ["b", "a"]
    assert scores["section_recall"].null_count() == 2
    # q2: each chunk of b covers 10 of 20 characters, at ranks 2 and 3; 20 tokens hold the first two chunks.
    discounts = 1 / np.log2([2, 3, 4])
    expected = (discounts[1] + discounts[2]) / (discounts[0] + discounts[1])
    assert scores.row(0, named=True) == {
        "query_id": "q2",
        "doc_id": "b",
        "type": "why",
        "section_recall": None,
        "cov_ndcg@10": pytest.approx(expected),
        "ndcg@10": pytest.approx(expected),
        "recall@50": 1.0,
        "mrr": 0.5,
        "coverage@20t": 0.5,
    }
    # q1: [0, 80) holds all of its span.
    assert scores.row(1)[4:] == (1.0, 1.0, 1.0, 1.0, 1.0)


def test_rank_is_the_authority_not_score_and_not_row_order(cell):
    first = cell.score()
    cell.ranking = cell.ranking[::-1]
    for row in cell.ranking:
        row["score"] = float(row["rank"])
    assert cell.score().equals(first)
    cell.chunks = cell.chunks[::-1]
    assert cell.score().equals(first)
    # Renamed documents (their order changes) leave the numbers as they are.
    for row in cell.chunks:
        row["doc_id"] = {"a": "z", "b": "a", "a.1": "y"}[row["doc_id"]]
        row["chunk_id"] = chunk_id(row["doc_id"], row["start"], row["end"])
    for row in cell.queries:
        row["doc_id"] = {"a": "z", "b": "a", "gone": "gone"}[row["doc_id"]]
    for row in cell.ranking:
        doc, span = row["chunk_id"].rsplit(":", 1)
        row["chunk_id"] = f"{ ({'a': 'z', 'b': 'a', 'a.1': 'y'}[doc]) }:{span}"
    assert cell.score().select(METRICS).equals(first.select(METRICS))


def test_prefix_tokens_change_budgets_and_nothing_else(cell):
    bare = cell.score()
    cell.prefix_tokens = {row["chunk_id"]: 1 for row in cell.chunks}
    prefixed = cell.score()
    assert prefixed["coverage@20t"].to_list() == [0.0, 1.0]
    assert prefixed.drop("coverage@20t").equals(bare.drop("coverage@20t"))


def test_section_recall_is_filled_from_routing(cell):
    def routed(query_id, rank, doc, section):
        return {"query_id": query_id, "rank": rank, "doc_id": doc, "section": section, "score": 0.5}

    cell.routing = [routed("q1", 1, "b", 0), routed("q2", 1, "a.1", 0), routed("q2", 2, "b", 1)]
    assert cell.score()["section_recall"].to_list() == [1.0, 0.0]
    cell.routing = cell.routing[1:]
    with pytest.raises(ScoringError, match=r"routing\.parquet: query q1 is missing"):
        cell.score()


def test_section_recall_counts_the_sections_that_were_routed_to(cell):
    """With ``section: section`` a routed number is the path's place in its document, not the top-level section."""
    for row in cell.chunks:
        row["path"] = ["one", str(row["start"])]
        row["top_section"] = 0

    def routed(query_id, doc, section):
        return {"query_id": query_id, "rank": 1, "doc_id": doc, "section": section, "score": 0.5}

    # q2's evidence [40, 60) lies in both sections of b, q1's in the only one of a
    for section, recall in ((0, 1.0), (1, 1.0), (2, 0.0)):
        cell.routing = [routed("q2", "b", section), routed("q1", "a", 0)]
        assert cell.score(section="section")["section_recall"].to_list() == [recall, 1.0]


def test_routing_of_a_flat_cell_is_refused(cell):
    cell.routing = [{"query_id": "q1", "rank": 1, "doc_id": "b", "section": 0, "score": 0.5}]
    with pytest.raises(ScoringError, match="retrieval is flat"):
        cell.score(section="")


def _drop(cell, query_id):
    cell.ranking = [row for row in cell.ranking if row["query_id"] != query_id]


def _gap(cell):
    del cell.ranking[3]


def _two_chunks_twice(cell):
    cell.ranking += [{**cell.ranking[0], "rank": 3}]


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (lambda cell: _drop(cell, "q1"), ScoringError, r"ranking\.parquet: query q1 is missing"),
        (lambda cell: cell.expected.remove("q1"), ScoringError, r"ranking\.parquet: query q1 is not expected"),
        (
            lambda cell: cell.expected.append("q9"),
            ScoringError,
            r"queries\.parquet: query q9 of .*expected\.parquet is",
        ),
        (
            lambda cell: cell.ranking.extend([{**cell.ranking[0], "rank": 3, "chunk_id": "x:1"}]),
            ScoringError,
            r"ranking\.parquet: chunk x:1 is not in .*chunks\.parquet",
        ),
        (_gap, ScoringError, r"ranking\.parquet: the ranks of query q2 have a gap"),
        (_two_chunks_twice, ContractError, r"ranking\.parquet.*a chunk stands twice in a query's ranking"),
        (
            lambda cell: cell.expected.append("idle"),
            ScoringError,
            r"chunks\.parquet: the document of query idle has no",
        ),
        (
            lambda cell: cell.chunks.append(chunk("b", 90, 120)),
            ScoringError,
            r"chunks\.parquet: chunk b:000000090-000000120 overlaps",
        ),
        (
            lambda cell: cell.queries.__setitem__(0, query("q2", "b", (90, 101))),
            ScoringError,
            r"queries\.parquet: evidence of query q2 ends beyond",
        ),
        (
            lambda cell: setattr(cell, "prefix_tokens", {row["chunk_id"]: 0 for row in cell.chunks[1:]}),
            ScoringError,
            r"view\.parquet: chunk b:000000000-000000050 of .*chunks\.parquet is missing",
        ),
        (
            lambda cell: setattr(cell, "prefix_tokens", {row["chunk_id"]: 0 for row in cell.chunks} | {"b:x": 0}),
            ScoringError,
            r"view\.parquet: chunk b:x is not in",
        ),
    ],
)
def test_inputs_that_do_not_belong_together_are_refused_by_name(cell, spoil, error, says):
    spoil(cell)
    with pytest.raises(error, match=says):
        cell.score()
    assert not (cell.folder / "scores.parquet").exists()


def test_unknown_and_repeated_metrics_are_refused(cell):
    with pytest.raises(ValueError, match="unknown metric 'map'"):
        cell.score(["mrr", "map"])
    with pytest.raises(ValueError, match="metric mrr is named twice"):
        cell.score(["mrr", "mrr"])


def test_scoring_never_imports_a_treatment():
    """Of a treatment a score sees n_prefix_tokens and nothing else (design §7)."""
    code = (
        "import sys, docstructure.scoring\nfrom docstructure.metrics import METRICS\n"
        "import importlib\n[importlib.import_module(METRICS.module(k)) for k in METRICS.modules]\n"
        "print('\\n'.join(m for m in sys.modules if m.startswith('docstructure.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(LIBRARY)}, capture_output=True, text=True, check=True
    )
    nouns = {module.split(".")[1] for module in done.stdout.split()}
    assert nouns <= {"contracts", "metrics", "registry", "routing_sections", "scoring"}
