"""Simulated clustered data: what the study's intervals promise, and what a bootstrap over queries does not keep."""

from __future__ import annotations

import numpy as np
import pytest

from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap

SIMULATIONS = 4000
EFFECT = 0.02


@pytest.fixture(scope="module")
def simulated():
    """Deltas of 4,000 studies: 150 documents of 1 to 8 queries, as much variance between documents as within."""
    rng = np.random.default_rng(20260710)
    documents = np.repeat(np.arange(150), rng.integers(1, 9, 150))
    between = rng.normal(0, 0.1, (150, SIMULATIONS))[documents]
    within = rng.normal(0, 0.1, (len(documents), SIMULATIONS))
    return between + within, documents


def shares(deltas, clusters, effect):
    """Share of studies whose 95 % interval covers the effect, and share with p < 0.05."""
    result = cluster_bootstrap(deltas + effect, clusters, Resampling(2000, 0.95, 1))
    covered = (result.ci_low <= effect) & (effect <= result.ci_high)
    return covered.mean(), (result.p < 0.05).mean()


def test_cluster_bootstrap_covers_and_query_bootstrap_does_not(simulated):
    deltas, documents = simulated
    by_document, _ = shares(deltas, documents, EFFECT)
    by_query, _ = shares(deltas, np.arange(len(documents)), EFFECT)
    # 4,000 studies: a standard error of 0.34 points.
    assert 0.93 <= by_document <= 0.97
    assert by_query < 0.80


def test_false_positives_stay_near_the_level_only_when_documents_are_drawn(simulated):
    deltas, documents = simulated
    _, by_document = shares(deltas, documents, 0.0)
    _, by_query = shares(deltas, np.arange(len(documents)), 0.0)
    assert 0.03 <= by_document <= 0.07
    assert by_query > 0.20


def test_without_clustering_both_cover():
    """The query bootstrap fails above because of the documents, not because of the code."""
    rng = np.random.default_rng(7)
    documents = np.repeat(np.arange(150), rng.integers(1, 9, 150))
    deltas = rng.normal(0, 0.1, (len(documents), SIMULATIONS))
    for clusters in (documents, np.arange(len(documents))):
        covered, _ = shares(deltas, clusters, EFFECT)
        assert 0.93 <= covered <= 0.97
