"""The statistics stage: rows, confirmatory family, pairing, unavailable conditions, means."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from docstructure.contracts.contrasts import CONTRASTS
from docstructure.contracts.means import MEANS
from docstructure.contracts.scores import SCORES
from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap
from docstructure.statistics.cells import PairingError
from docstructure.statistics.contrasts import build_contrasts
from docstructure.statistics.means import build_means
from docstructure.statistics.mixed_models import condition_model, paired_model

CELL = {"metric": "mrr", "embedder": "large", "reranker": "none"}
METRICS = ["cov_ndcg@10", "mrr"]
DEFINED = {"C1": ["A3", "A1"], "C2": ["A3", "P"], "C3": ["G3", "A3"], "X": ["P", "A1"]}
EFFECTS = {"A1": 0.0, "A3": 0.08, "P": 0.02, "G3": 0.08}


class Study:
    """Score files of a small grid in a folder, and the arguments of the stage."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(11)
        self.documents = [f"d{doc:02d}" for doc in np.repeat(np.arange(30), rng.integers(1, 6, 30))]
        self.queries = [f"q{index:03d}" for index in range(len(self.documents))]
        self.frames = {}
        level = rng.uniform(0.2, 0.6, len(self.queries))
        for embedder, reranker in (("small", "none"), ("large", "none"), ("large", "cross")):
            for condition, effect in EFFECTS.items():
                values = {name: np.clip(level + effect + rng.normal(0, 0.08, len(level)), 0, 1) for name in METRICS}
                self.frames[condition, embedder, reranker] = pl.DataFrame(
                    {
                        "query_id": self.queries,
                        "doc_id": self.documents,
                        "type": ["why"] * len(level),
                        "section_recall": pl.Series([None] * len(level), dtype=pl.Float64),
                        **values,
                    }
                )
        self.arguments = {
            "contrasts": DEFINED,
            "preregistration": {"cell": CELL, "contrasts": ["C1", "C2", "C3"]},
            "exploratory": ["X"],
            "unavailable": {},
            "metrics": METRICS,
            "bootstrap_iters": 500,
            "confidence": 0.95,
            "seed": 5,
            "mixed_models": False,  # three statsmodels fits a table take two seconds
        }

    def entries(self):
        entries = []
        for (condition, embedder, reranker), frame in self.frames.items():
            path = self.folder / f"{condition}.{embedder}.{reranker}.parquet"
            frame.write_parquet(path)
            entries.append({"condition": condition, "embedder": embedder, "reranker": reranker, "path": str(path)})
        return entries

    def contrasts(self, **changes):
        table = str(self.folder / "contrasts.parquet")
        build_contrasts(scores=self.entries(), table=table, **(self.arguments | changes))
        return CONTRASTS.read(table)

    def means(self):
        table = str(self.folder / "means.parquet")
        build_means(
            scores=self.entries(), preregistration=self.arguments["preregistration"], metrics=METRICS, table=table
        )
        return MEANS.read(table)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def test_there_is_one_row_per_contrast_cell_and_metric(study):
    table = study.contrasts()
    assert table.height == 4 * 3 * 2
    assert table["contrast"].unique(maintain_order=True).to_list() == ["C1", "C2", "C3", "X"]
    assert (table["status"] == "tested").all()
    assert (table["n_queries"] == len(study.queries)).all()
    assert (table["n_documents"] == 30).all()


def test_only_the_preregistered_cell_is_confirmatory_and_only_its_family_is_adjusted(study):
    table = study.contrasts()
    confirmatory = table.filter("confirmatory")
    assert confirmatory["contrast"].to_list() == ["C1", "C2", "C3"]
    assert confirmatory.select("metric", "embedder", "reranker").unique().rows() == [("mrr", "large", "none")]
    assert confirmatory["family_size"].to_list() == [3, 3, 3]
    assert (confirmatory["p_holm"] >= confirmatory["p"]).all()
    rest = table.filter(~pl.col("confirmatory"))
    assert rest["p_holm"].null_count() == rest.height
    assert rest["family_size"].null_count() == rest.height


def test_a_row_holds_what_each_statistic_gives_alone(study):
    row = study.contrasts(mixed_models=True).row(
        by_predicate=(pl.col("contrast") == "C2") & pl.col("confirmatory"), named=True
    )
    minuend, subtrahend = (study.frames[name, "large", "none"]["mrr"].to_numpy() for name in ("A3", "P"))
    delta = minuend - subtrahend
    documents = np.unique(study.documents, return_inverse=True)[1]
    bootstrap = cluster_bootstrap(delta[:, None], documents, Resampling(500, 0.95, 5))
    assert row["delta"] == pytest.approx(delta.mean(), abs=1e-15)
    assert (row["ci_low"], row["ci_high"], row["p"]) == (bootstrap.ci_low[0], bootstrap.ci_high[0], bootstrap.p[0])
    assert row["dz"] == pytest.approx(delta.mean() / delta.std(ddof=1))
    assert row["p_mixedlm"] == condition_model(minuend, subtrahend, documents, statsmodels=True).p
    assert row["p_paired"] == paired_model(delta, documents, statsmodels=True).p
    assert row["mixedlm_note"].startswith("statsmodels ")
    assert row["mixedlm_converged"]


def test_exploratory_rows_are_fitted_by_the_profile_and_say_so(study):
    rest = study.contrasts(mixed_models=True).filter(~pl.col("confirmatory"))
    assert set(rest["mixedlm_note"]) == {"profiled REML"}
    assert rest["p_mixedlm"].null_count() == 0


def test_row_order_of_the_scores_does_not_matter(study):
    first = study.contrasts()
    study.frames = {key: frame.sample(fraction=1, shuffle=True, seed=3) for key, frame in study.frames.items()}
    assert study.contrasts().equals(first)


def test_a_cell_has_the_same_numbers_alone_as_in_the_grid(study):
    whole = study.contrasts(mixed_models=True).filter((pl.col("embedder") == "large") & (pl.col("reranker") == "none"))
    study.frames = {key: frame for key, frame in study.frames.items() if key[1:] == ("large", "none")}
    assert study.contrasts(mixed_models=True).equals(whole)


def test_the_same_file_has_the_same_bytes(study):
    study.contrasts()
    first = (study.folder / "contrasts.parquet").read_bytes()
    study.contrasts()
    assert (study.folder / "contrasts.parquet").read_bytes() == first


def test_an_unavailable_condition_leaves_rows_with_a_status_and_a_smaller_family(study):
    study.frames = {key: frame for key, frame in study.frames.items() if key[0] != "G3"}
    table = study.contrasts(unavailable={"G3": "the corpus declares no structure gold"})
    gone = table.filter(pl.col("contrast") == "C3")
    assert gone.height == 6
    assert set(gone["status"]) == {"unavailable: G3 (the corpus declares no structure gold)"}
    assert (
        gone.select("delta", "ci_low", "ci_high", "p", "p_holm", "dz", "p_mixedlm", "p_paired").null_count().row(0)
        == (6,) * 8
    )
    assert gone["confirmatory"].sum() == 1
    assert table.filter("confirmatory")["family_size"].to_list() == [2, 2, None]


def test_a_cell_that_was_not_run_is_a_row_too(study):
    study.frames = {key: frame for key, frame in study.frames.items() if key != ("P", "large", "none")}
    table = study.contrasts()
    row = table.row(by_predicate=(pl.col("contrast") == "C2") & pl.col("confirmatory"), named=True)
    assert row["status"] == "not run: P has no scores in this cell"
    study.frames = {key: frame for key, frame in study.frames.items() if key[1] == "small"}
    table = study.contrasts()
    assert table.filter("confirmatory").height == 3
    assert set(table.filter("confirmatory")["status"]) == {
        f"not run: {condition} has no scores in this cell" for condition in ("A3", "G3")
    }


def test_one_document_is_not_tested_and_says_so(study):
    study.frames = {key: frame.with_columns(doc_id=pl.lit("only")) for key, frame in study.frames.items()}
    table = study.contrasts()
    assert set(table["status"]) == {"not tested: 1 document; a cluster bootstrap needs 2"}
    assert table["p"].null_count() == table.height
    assert (table["n_queries"] == len(study.queries)).all()


def test_equal_conditions_have_p_one_and_no_effect_size(study):
    for key in list(study.frames):
        if key[0] == "P":
            study.frames[key] = study.frames[("A3", *key[1:])]
    table = study.contrasts(mixed_models=True).filter(pl.col("contrast") == "C2")
    assert set(table["delta"]) == {0.0}
    assert set(table["p"]) == {1.0}
    assert table["dz"].null_count() == table.height
    assert table["p_paired"].null_count() == table.height
    assert set(table["paired_note"]) == {"not fitted: all values are equal: there is no variance to explain"}


def test_mixed_models_can_be_left_out(study):
    table = study.contrasts()
    assert table["p_mixedlm"].null_count() == table.height
    assert set(table["mixedlm_note"]) == {"not fitted: mixed_models is off"}


def _missing_query(study):
    key = ("P", "large", "none")
    study.frames[key] = study.frames[key].filter(pl.col("query_id") != "q003")


def _other_document(study):
    key = ("P", "large", "none")
    changed = pl.when(pl.col("query_id") == "q003").then(pl.lit("elsewhere")).otherwise("doc_id")
    study.frames[key] = study.frames[key].with_columns(doc_id=changed)


def _spoiled_score(value):
    def spoil(study):
        key = ("P", "large", "none")
        changed = pl.when(pl.col("query_id") == "q003").then(pl.lit(value, pl.Float64)).otherwise("mrr").alias("mrr")
        study.frames[key] = study.frames[key].with_columns(changed)

    return spoil


def _missing_metric(study):
    key = ("P", "large", "none")
    study.frames[key] = study.frames[key].drop("mrr")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_missing_query, r"P\.large\.none\.parquet: query q003 of .* is missing"),
        (_other_document, r"P\.large\.none\.parquet: query q003 belongs to another document"),
        (_spoiled_score(None), r"P\.large\.none\.parquet: mrr of query q003 is no score"),
        (_spoiled_score(float("nan")), r"P\.large\.none\.parquet: mrr of query q003 is no score"),
        (_spoiled_score(1.5), r"P\.large\.none\.parquet: mrr of query q003 is no score"),
        (_missing_metric, r"P\.large\.none\.parquet: metric mrr is missing; it has cov_ndcg@10"),
    ],
)
def test_scores_that_cannot_be_paired_are_refused_by_name(study, spoil, says):
    spoil(study)
    with pytest.raises(PairingError, match=says):
        study.contrasts()
    with pytest.raises(PairingError, match=says):
        study.means()


def test_a_cell_given_twice_is_refused(study):
    with pytest.raises(PairingError, match="given twice"):
        build_contrasts(scores=study.entries() * 2, table=str(study.folder / "t.parquet"), **study.arguments)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"exploratory": ["C9"]}, "contrast C9 is not defined; contrasts are C1, C2, C3, X"),
        ({"exploratory": ["C1"]}, "contrast C1 is pre-registered"),
        ({"metrics": ["cov_ndcg@10"]}, "pre-registered metric mrr is not among"),
        ({"metrics": ["mrr", "map"]}, "unknown metric 'map'"),
        ({"contrasts": DEFINED | {"X": ["P"]}}, "contrast X is"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(study, changes, says):
    for frame in study.frames:
        study.frames[frame] = study.frames[frame].with_columns(map=pl.lit(0.5))
    with pytest.raises(ValueError, match=says):
        study.contrasts(**changes)


def test_means_are_over_all_queries_and_section_recall_over_those_that_have_it(study):
    key = ("A3", "large", "none")
    study.frames[key] = study.frames[key].with_columns(
        section_recall=pl.when(pl.col("query_id") < "q004")
        .then(pl.lit(1.0))
        .when(pl.col("query_id") < "q008")
        .then(0.0)
    )
    means = study.means()
    assert means.height == 12 * 2 + 1
    recall = means.row(by_predicate=pl.col("metric") == "section_recall", named=True)
    assert recall == {
        "condition": "A3",
        "embedder": "large",
        "reranker": "none",
        "metric": "section_recall",
        "mean": 0.5,
        "n": 8,
        "confirmatory": False,
    }
    row = means.row(
        by_predicate=(pl.col("condition") == "P") & (pl.col("embedder") == "small") & (pl.col("metric") == "mrr"),
        named=True,
    )
    assert row["mean"] == pytest.approx(study.frames["P", "small", "none"]["mrr"].mean(), abs=1e-15)
    assert row["n"] == len(study.queries)
    assert means.filter("confirmatory").select("embedder", "reranker", "metric").unique().rows() == [
        ("large", "none", "mrr")
    ]
    assert means.filter("confirmatory").height == 4


def test_the_fixture_is_a_valid_artifact(study):
    for path in (entry["path"] for entry in study.entries()):
        SCORES.read(path)
