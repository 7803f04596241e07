"""Simulated clustered studies: type-I error of each test, and power beside the formula."""

from __future__ import annotations

import numpy as np
import pytest

from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap
from docstructure.statistics.dose_response import slopes
from docstructure.statistics.mixed_models import condition_model, paired_model
from docstructure.statistics.power import minimal_detectable_effect, power, precision

STUDIES = 4000
DOCUMENTS = 150
RESAMPLING = Resampling(2000, 0.95, 1)
ALPHA = 0.05
POINTS = 0.03


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(20260710)
    return np.repeat(np.arange(DOCUMENTS), rng.integers(1, 9, DOCUMENTS))


def clustered(documents, studies, seed, between=0.1, within=0.15):
    """Deltas of many studies with no effect, shape (queries, studies)."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, between, (DOCUMENTS, studies))[documents]
    return shared + rng.normal(0, within, (len(documents), studies))


@pytest.fixture(scope="module")
def null(documents):
    return clustered(documents, STUDIES, 1)


@pytest.fixture(scope="module")
def true_se(null):
    """Standard error of the mean over studies: what one study's `precision` estimates."""
    return null.mean(axis=0).std(ddof=1)


def rejected(deltas, documents):
    return (cluster_bootstrap(deltas, documents, RESAMPLING).p < ALPHA).mean()


def test_standard_error_is_that_over_studies(null, documents, true_se):
    estimates = [precision(null[:, study], documents).se for study in range(400)]
    assert np.mean(estimates) == pytest.approx(true_se, rel=0.03)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_power_is_within_three_points_of_the_formula(null, documents, true_se, share):
    effect = minimal_detectable_effect(true_se, ALPHA, share) if share >= 0.5 else 0.85 * true_se
    assert rejected(null + effect, documents) == pytest.approx(power(effect, true_se, ALPHA), abs=POINTS)


def test_one_study_finds_its_minimal_detectable_effect_four_times_in_five(null, documents):
    """Each study is shifted by its own estimate of the effect, as a user would plan by it."""
    effects = np.array(
        [minimal_detectable_effect(precision(column, documents).se, ALPHA, 0.8) for column in null[:, :2000].T]
    )
    assert rejected(null[:, :2000] + effects, documents) == pytest.approx(0.8, abs=POINTS)


def test_slopes_keep_the_level_under_the_null(documents):
    """A ladder whose steps share documents and queries, and no trend."""
    rng = np.random.default_rng(3)
    n, studies = len(documents), 1500
    columns = []
    for _ in range(studies):
        step = rng.normal(0, 0.1, (DOCUMENTS, 4))[documents] + rng.normal(0, 0.1, (n, 4))
        columns.append(slopes(rng.normal(0.4, 0.2, n)[:, None] + step, range(4)))
    # 1,500 studies: a standard error of 0.6 points
    assert 0.03 <= rejected(np.stack(columns, axis=1), documents) <= 0.07


def test_a_type_keeps_the_level_under_the_null(null, documents):
    """A third of the queries, as the test of one type sees them: fewer documents, renumbered."""
    chosen = np.random.default_rng(5).uniform(size=len(documents)) < 1 / 3
    clusters = np.unique(documents[chosen], return_inverse=True)[1]
    assert 0.03 <= rejected(null[chosen], clusters) <= 0.07


@pytest.mark.parametrize("between", [0.0, 0.03])
def test_the_paired_mixed_model_keeps_the_level_with_and_without_clusters(documents, between):
    """Without clusters the estimated document variance is 0 in about half of the studies; each has its p."""
    studies = 1500
    deltas = clustered(documents, studies, 8, between=between, within=0.05)
    found = [paired_model(column, documents, statsmodels=False).p for column in deltas.T]
    assert found.count(None) == 0
    # 1,500 studies: a standard error of 0.6 points
    assert 0.033 <= np.mean(np.array(found) < ALPHA) <= 0.067


def test_the_papers_mixed_model_is_conservative(documents):
    """It leaves the variance between queries in its residual (D.4): it rejects far too rarely."""
    rng = np.random.default_rng(7)
    studies, n = 400, len(documents)
    deltas = clustered(documents, studies, 8, between=0.03, within=0.05)
    found = []
    for column in deltas.T:
        # Documents differ in level: where they do not, this model has no fit.
        level = rng.normal(0.4, 0.15, DOCUMENTS)[documents] + rng.normal(0, 0.25, n)
        found.append(condition_model(level + column, level, documents, statsmodels=False).p)
    assert found.count(None) == 0
    assert np.mean(np.array(found) < ALPHA) <= 0.01


def test_coverage_is_blind_to_clusters_only_when_there_are_none(documents):
    """The formula over queries understates the error; its power is too good by far more than three points."""
    deltas = clustered(documents, STUDIES, 11)
    naive = float(np.mean([column.std(ddof=1) for column in deltas[:, :200].T])) / np.sqrt(len(documents))
    effect = minimal_detectable_effect(naive, ALPHA, 0.8)
    assert rejected(deltas + effect, documents) < 0.8 - POINTS
