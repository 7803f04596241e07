"""Budget curves."""

import numpy as np
import pytest

from docstructure.contracts.budget import BUDGET
from docstructure.statistics.budget import budgets_of, build_budget
from tests.unit.scored_cells import RESAMPLING, documents_of, entry, make_scores

METRICS = ["coverage@2048t", "mrr", "coverage@512t"]


def build(tmp_path, sizes):
    documents = documents_of(sizes)
    rng = np.random.default_rng(1)
    values = {name: rng.uniform(0, 1, len(documents)) for name in METRICS}
    path = make_scores(tmp_path / "s.parquet", values, documents=documents)
    table = tmp_path / "table.parquet"
    build_budget(scores=[entry("A1", "e", "none", path)], metrics=METRICS, table=str(table), **RESAMPLING)
    return values, BUDGET.read(table)


def test_budgets_ascend_and_other_metrics_are_left_out():
    assert budgets_of(METRICS) == {"coverage@512t": 512, "coverage@2048t": 2048}
    assert budgets_of(["mrr"]) == {}


def test_means_are_of_the_coverage_columns_with_an_interval_around_them(tmp_path):
    values, table = build(tmp_path, [2, 3, 1, 4, 2])
    assert table["budget"].to_list() == [512, 2048]
    for row in table.iter_rows(named=True):
        assert row["mean"] == pytest.approx(values[f"coverage@{row['budget']}t"].mean())
        assert row["ci_low"] < row["mean"] < row["ci_high"]
        assert row["n"] == 12


def test_one_document_has_means_without_an_interval(tmp_path):
    _, table = build(tmp_path, [5])
    assert table["ci_low"].null_count() == 2
