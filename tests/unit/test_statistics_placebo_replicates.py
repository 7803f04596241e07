"""The placebo contrast over further seeds."""

import numpy as np
import pytest

from docstructure.contracts.placebo_replicates import PLACEBO_REPLICATES
from docstructure.statistics.placebo_replicates import build_placebo_replicates, placebo_draws
from tests.unit.scored_cells import RESAMPLING, documents_of, entry, make_scores

PREFIXES = {
    "none": {"none": {}},
    "path3": {"path": {"depth": 3}},
    "placebo3": {"placebo": {"depth": 3, "seed": 9}},
    "placebo3b": {"placebo": {"depth": 3, "seed": 7}},
    "placebo3c": {"placebo": {"depth": 3, "seed": 8}},
    "copy": {"placebo": {"depth": 3, "seed": 7}},
    "placebo1": {"placebo": {"depth": 1, "seed": 1}},
}


def condition(prefix, boundaries="induced", retrieval="flat"):
    return {"boundaries": boundaries, "prefix": prefix, "retrieval": retrieval}


CONDITIONS = {
    "A2": condition("none"),
    "A3": condition("path3"),
    "Pb": condition("placebo3b"),
    "P": condition("placebo3"),
    "Pc": condition("placebo3c"),
    "Pcopy": condition("copy"),
    "P1": condition("placebo1"),
    "GP": condition("placebo3b", boundaries="gold"),
    "P4": condition("placebo3b", retrieval="two_stage"),
}


def test_draws_differ_in_the_seed_alone():
    assert placebo_draws("P", CONDITIONS, PREFIXES) == {"P": 9, "Pb": 7, "Pc": 8}
    assert placebo_draws("P1", CONDITIONS, PREFIXES) == {"P1": 1}
    assert placebo_draws("A3", CONDITIONS, PREFIXES) == {}


def build(tmp_path, present, contrasts):
    documents = documents_of([2, 3, 1, 4, 2])
    rng = np.random.default_rng(1)
    values = {name: rng.uniform(0, 1, 12) for name in present}
    entries = [
        entry(name, "e", "none", make_scores(tmp_path / name, {"mrr": column}, documents=documents))
        for name, column in values.items()
    ]
    table = tmp_path / "table.parquet"
    build_placebo_replicates(
        scores=entries,
        contrasts=contrasts,
        conditions=CONDITIONS,
        prefixes=PREFIXES,
        unavailable={},
        metrics=["mrr"],
        table=str(table),
        **RESAMPLING,
    )
    return values, PLACEBO_REPLICATES.read(table)


def test_the_spread_is_over_the_draws_that_were_run(tmp_path):
    values, table = build(tmp_path, ["A3", "P", "Pb"], {"C2": ["A3", "P"], "C1": ["A3", "A2"], "PP": ["P", "Pb"]})
    assert table["contrast"].unique().to_list() == ["C2"]
    assert table["placebo"].to_list() == ["P", "Pb", "Pc"]
    assert table["drawn_first"].to_list() == [True, False, False]
    assert table["status"].to_list()[2] == "not run: Pc has no scores in this cell"
    drawn = [(values["A3"] - values[name]).mean() for name in ("P", "Pb")]
    assert table["delta"].to_list() == [pytest.approx(drawn[0]), pytest.approx(drawn[1]), None]
    row = table.row(0, named=True)
    assert (row["n_draws"], row["draws_sd"]) == (2, pytest.approx(np.std(drawn, ddof=1)))
    assert (row["draws_low"], row["draws_high"]) == (pytest.approx(min(drawn)), pytest.approx(max(drawn)))


def test_a_placebo_on_the_left_is_redrawn_there(tmp_path):
    values, table = build(tmp_path, ["A2", "P", "Pb", "Pc"], {"X": ["P", "A2"]})
    assert table.select("minuend", "subtrahend").rows() == [("P", "A2"), ("Pb", "A2"), ("Pc", "A2")]
    assert table["delta"][1] == pytest.approx((values["Pb"] - values["A2"]).mean())


def test_one_draw_has_no_spread(tmp_path):
    _, table = build(tmp_path, ["A3", "P"], {"C2": ["A3", "P"]})
    assert table["draws_sd"].null_count() == table.height
