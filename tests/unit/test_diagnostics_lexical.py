"""BM25 gold-top-1 per chunk set."""

from docstructure.contracts.bm25 import BM25
from docstructure.contracts.bm25_probe import BM25_PROBE
from docstructure.diagnostics.lexical import build_bm25_probe


def test_a_miss_counts_as_a_miss(tmp_path):
    rows = [
        ("q1", "t", "c", 1.0, True),
        ("q2", "t", "c", 1.0, False),
        ("q3", "t", None, 0.0, False),
        ("q4", "t", "c", 2.0, True),
    ]
    BM25.write(BM25.frame(rows), tmp_path / "fixed")
    BM25.write(BM25.frame(rows[1:3]), tmp_path / "gold")
    build_bm25_probe(
        boundaries=["fixed", "gold"],
        files=[str(tmp_path / "fixed"), str(tmp_path / "gold")],
        table=str(tmp_path / "table"),
    )
    assert BM25_PROBE.read(tmp_path / "table").rows() == [("fixed", 4, 2, 0.5), ("gold", 2, 0, 0.0)]
