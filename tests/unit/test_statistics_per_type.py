"""Contrasts inside each query type."""

import numpy as np
import pytest

from docstructure.contracts.per_type import PER_TYPE
from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap
from docstructure.statistics.cells import PairingError
from docstructure.statistics.per_type import build_per_type
from tests.unit.scored_cells import RESAMPLING, documents_of, entry, make_scores

DOCUMENTS = documents_of([3, 2, 4, 1, 2, 3, 5, 4])
N = len(DOCUMENTS)


def build(tmp_path, types, other_types=None):
    rng = np.random.default_rng(3)
    values = {name: rng.uniform(0, 1, N) for name in ("A3", "A1")}
    entries = [
        entry(
            name,
            "e",
            "none",
            make_scores(
                tmp_path / f"{name}.parquet",
                {"mrr": column},
                documents=DOCUMENTS,
                types=other_types if other_types and name == "A1" else types,
            ),
        )
        for name, column in values.items()
    ]
    table = tmp_path / "table.parquet"
    build_per_type(
        scores=entries,
        contrasts={"C1": ["A3", "A1"], "C9": ["A3", "G3"]},
        unavailable={},
        metrics=["mrr"],
        table=str(table),
        **RESAMPLING,
    )
    return values, PER_TYPE.read(table)


def test_each_type_is_tested_as_if_it_were_alone(tmp_path):
    types = ["factoid" if index % 3 else "multihop" for index in range(N)]
    values, table = build(tmp_path, types)
    for kind in ("factoid", "multihop"):
        chosen = np.array([name == kind for name in types])
        delta = (values["A3"] - values["A1"])[chosen]
        clusters = np.unique(np.array(DOCUMENTS)[chosen], return_inverse=True)[1]
        alone = cluster_bootstrap(delta[:, None], clusters, Resampling(400, 0.95, 5))
        row = table.filter(contrast="C1", type=kind).row(0, named=True)
        assert row["delta"] == pytest.approx(delta.mean())
        assert (row["ci_low"], row["p"]) == (alone.ci_low[0], alone.p[0])
        assert row["dz"] == pytest.approx(delta.mean() / delta.std(ddof=1))
        assert (row["n_queries"], row["n_documents"]) == (len(delta), len(set(clusters)))
        assert row["exploratory"]


def test_weighted_by_their_queries_the_types_make_the_whole(tmp_path):
    values, table = build(tmp_path, [f"t{index % 4}" for index in range(N)])
    rows = table.filter(contrast="C1")
    assert (rows["delta"] * rows["n_queries"]).sum() / N == pytest.approx((values["A3"] - values["A1"]).mean())


def test_a_type_of_one_document_is_not_tested(tmp_path):
    types = ["rare" if doc == "d003" else "common" for doc in DOCUMENTS]
    _, table = build(tmp_path, types)
    rare = table.filter(contrast="C1", type="rare").row(0, named=True)
    assert rare["status"].startswith("not tested: 1 document")
    assert rare["delta"] is None


def test_a_contrast_without_its_cell_is_a_status(tmp_path):
    _, table = build(tmp_path, ["one"] * N)
    assert table.filter(contrast="C9")["status"].to_list() == ["not run: G3 has no scores in this cell"]


def test_cells_must_agree_on_types(tmp_path):
    with pytest.raises(PairingError, match="query q0000 has another type"):
        build(tmp_path, ["one"] * N, other_types=["two"] * N)
