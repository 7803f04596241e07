"""Bootstrap, Holm, effect size and mixed models against scipy and statsmodels, and on data that broke others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.multitest import multipletests

from docstructure.statistics import bootstrap as bootstrap_module
from docstructure.statistics.bootstrap import Resampling, cluster_bootstrap, resampling_counts
from docstructure.statistics.effect_size import cohens_dz
from docstructure.statistics.holm import holm
from docstructure.statistics.mixed_models import condition_model, paired_model
from docstructure.statistics.random_intercept import NotIdentifiedError, fit_condition, fit_paired


def clustered(seed, *, n_documents=80, effect=0.02, document_sd=0.2, delta_sd=0.0, largest=6):
    """Scores of two conditions with document variance in the level and in the delta."""
    rng = np.random.default_rng(seed)
    documents = np.repeat(np.arange(n_documents), rng.integers(1, largest + 1, n_documents))
    level = rng.normal(0.5, document_sd, n_documents)[documents] + rng.normal(0, 0.1, len(documents))
    delta = effect + rng.normal(0, delta_sd, n_documents)[documents] + rng.normal(0, 0.1, len(documents))
    return level + delta, level, documents


# --- cluster bootstrap ---


def test_bootstrap_agrees_with_scipy_within_monte_carlo_error():
    minuend, subtrahend, documents = clustered(1, delta_sd=0.05)
    delta = minuend - subtrahend
    ours = cluster_bootstrap(delta[:, None], documents, Resampling(20_000, 0.95, 3))
    sums, counts = np.bincount(documents, weights=delta), np.bincount(documents)
    peer = scipy.stats.bootstrap(
        (sums, counts),
        lambda s, c, axis: s.sum(axis) / c.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(4),
        batch=2_000,
    )
    # A 2.5 % quantile of 20,000 normal draws has a standard error of 0.019 standard deviations.
    tolerance = 5 * 0.019 * np.sqrt(2) * peer.standard_error
    assert ours.ci_low[0] == pytest.approx(peer.confidence_interval.low, abs=tolerance)
    assert ours.ci_high[0] == pytest.approx(peer.confidence_interval.high, abs=tolerance)
    share = min((peer.bootstrap_distribution <= 0).mean(), (peer.bootstrap_distribution >= 0).mean())
    assert ours.p[0] == pytest.approx(2 * share, abs=10 * np.sqrt(2 * max(share, 1e-4) / 20_000))


def test_every_replicate_draws_as_many_clusters_as_there_are():
    blocks = list(resampling_counts(7, 100, seed=5))
    counts = np.concatenate(blocks)
    assert counts.shape == (100, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean() == 1


def test_blocks_do_not_change_the_draws(monkeypatch):
    whole = np.concatenate(list(resampling_counts(7, 100, seed=5)))
    monkeypatch.setattr(bootstrap_module, "BLOCK_DRAWS", 21)
    blocks = list(resampling_counts(7, 100, seed=5))
    assert len(blocks) == 34
    assert np.array_equal(np.concatenate(blocks), whole)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40))
def test_a_column_has_the_same_bits_alone_as_in_company(seed, n_columns):
    rng = np.random.default_rng(seed)
    documents = np.sort(np.append(np.arange(9), rng.integers(0, 9, 30)))
    deltas = rng.normal(0, 1, (39, n_columns)) * np.logspace(-3, 3, n_columns)
    resampling = Resampling(200, 0.9, seed)
    together = cluster_bootstrap(deltas, documents, resampling)
    for column in (0, n_columns - 1):
        alone = cluster_bootstrap(deltas[:, [column]], documents, resampling)
        assert alone.ci_low[0] == together.ci_low[column]
        assert alone.ci_high[0] == together.ci_high[column]
        assert alone.p[0] == together.p[column]


def test_replicates_equal_the_paper_s_formula():
    """Sum of sums over sum of counts of the drawn documents, from the same draws."""
    minuend, subtrahend, documents = clustered(2, n_documents=12)
    delta = minuend - subtrahend
    drawn = np.concatenate(list(resampling_counts(12, 500, seed=9))).astype(int)
    means = [
        np.concatenate([delta[documents == doc] for doc, times in enumerate(row) for _ in range(times)]).mean()
        for row in drawn
    ]
    ours = cluster_bootstrap(delta[:, None], documents, Resampling(500, 0.95, 9))
    assert ours.ci_low[0] == pytest.approx(np.percentile(means, 2.5), abs=1e-12)
    assert ours.ci_high[0] == pytest.approx(np.percentile(means, 97.5), abs=1e-12)
    below, above = np.mean(np.array(means) <= 0), np.mean(np.array(means) >= 0)
    assert ours.p[0] == pytest.approx(min(1, 2 * min(below, above)))


def test_all_deltas_zero_give_p_one():
    result = cluster_bootstrap(np.zeros((6, 1)), np.repeat([0, 1, 2], 2), Resampling(100, 0.95, 1))
    assert (result.ci_low[0], result.ci_high[0], result.p[0]) == (0, 0, 1)


@pytest.mark.parametrize("sign", [1, -1])
def test_deltas_that_cancel_count_as_zero_on_both_sides(sign):
    """Every document's deltas sum to 0 in exact arithmetic, but to 6e-17 and 1e-16 in floats: p is 1, not 0."""
    deltas = sign * np.array([0.1, 0.2, -0.3, 0.2, 0.4, -0.6])
    assert (sign * np.bincount(np.repeat([0, 1], 3), weights=deltas) > 0).all()
    result = cluster_bootstrap(deltas[:, None], np.repeat([0, 1], 3), Resampling(1000, 0.95, 1))
    assert result.p[0] == 1


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_sums_are_exact_in_any_order_of_addition(scale):
    """So a mean has the same bits whatever BLAS does with it; with the sums as they are, it has not."""
    rng = np.random.default_rng(2)
    documents = np.concatenate([np.arange(300), rng.integers(0, 300, 900)])
    deltas = scale * rng.normal(0, 1, (1200, 3))
    drawn = next(iter(resampling_counts(300, 80, seed=1)))
    sums, quantum = bootstrap_module._cluster_sums(deltas, documents, 300)
    raw = np.stack([np.bincount(documents, weights=column) for column in deltas.T], axis=1)
    assert np.abs(sums - raw).max() <= quantum.max() / 2
    assert quantum.max() < 1e-9 * scale
    order = rng.permutation(300)

    def in_order(row, table):
        return float(np.add.accumulate((row * table[:, 0])[order])[-1])

    assert (drawn @ sums)[:, 0].tolist() == [in_order(row, sums) for row in drawn]
    assert (drawn @ raw)[:, 0].tolist() != [in_order(row, raw) for row in drawn]


def test_one_document_is_refused_because_its_interval_would_have_no_length():
    with pytest.raises(ValueError, match="1 cluster: a cluster bootstrap needs at least 2"):
        cluster_bootstrap(np.ones((5, 1)), np.zeros(5, dtype=int), Resampling(100, 0.95, 1))


def test_one_giant_document_dominates_and_widens_the_interval():
    """900 of 910 queries in one document: a query bootstrap gives a tiny interval, the cluster bootstrap does not."""
    rng = np.random.default_rng(0)
    documents = np.concatenate([np.zeros(900, dtype=int), np.arange(1, 11)])
    delta = np.concatenate([rng.normal(0.5, 0.05, 900), rng.normal(-0.5, 0.05, 10)])[:, None]
    by_document = cluster_bootstrap(delta, documents, Resampling(5000, 0.95, 1))
    by_query = cluster_bootstrap(delta, np.arange(910), Resampling(5000, 0.95, 1))
    assert by_document.ci_low[0] < 0 < by_document.ci_high[0]
    assert by_document.p[0] > 0.5  # the giant is not drawn in (10/11)^11 = 35 % of the replicates
    assert by_query.p[0] == 0
    assert by_query.ci_low[0] > 0.4


@pytest.mark.parametrize(
    ("deltas", "documents", "says"),
    [
        ([[0.1], [np.nan]], [0, 1], "delta of query 1, column 0 is nan"),
        ([[0.1], [0.2]], [0, 2], "cluster 1 has no query"),
        ([[0.1], [0.2], [0.3]], [0, 1], "shape"),
    ],
)
def test_malformed_deltas_are_refused(deltas, documents, says):
    with pytest.raises(ValueError, match=says):
        cluster_bootstrap(np.array(deltas), np.array(documents), Resampling(10, 0.95, 1))


def test_resampling_options_are_checked():
    with pytest.raises(ValueError, match="iterations is 0"):
        Resampling(0, 0.95, 1)
    with pytest.raises(ValueError, match=r"confidence is 95"):
        Resampling(10, 95, 1)


# --- Holm, effect size ---


@settings(max_examples=25, deadline=None)  # multipletests takes 0.1 s a call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_equals_statsmodels(p_values):
    peer = multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(p_values), peer, atol=1e-12)


def test_holm_edges():
    assert holm([]) == []
    assert holm([0.0, 0.0, 0.9, 0.02]) == [0.0, 0.0, 0.9, 0.04]
    with pytest.raises(ValueError, match="outside"):
        holm([0.1, float("nan")])


def test_dz_is_the_paired_t_over_root_n_and_null_without_variation():
    delta = np.random.default_rng(1).normal(0.1, 1, 50)
    assert cohens_dz(delta) == pytest.approx(scipy.stats.ttest_1samp(delta, 0).statistic / np.sqrt(50))
    assert cohens_dz(np.zeros(5)) is None
    assert cohens_dz(np.full(7, 0.1)) is None
    assert cohens_dz(np.array([0.1 + 0.2 - 0.3, 0.0, 0.0]) + 0.1) is None  # rounding only
    assert cohens_dz(np.array([0.4])) is None


# --- mixed models ---


def peer_fit(values, design, documents, optimiser="bfgs", **tolerance):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MixedLM(values, design, groups=documents).fit(reml=True, method=[optimiser], **tolerance)


@pytest.mark.parametrize(("seed", "largest"), [(1, 6), (2, 3), (3, 25)])
def test_profiled_reml_agrees_with_statsmodels(seed, largest):
    """Coefficient, standard error, variances and p; statsmodels at a tight tolerance."""
    minuend, subtrahend, documents = clustered(seed, delta_sd=0.05, largest=largest, effect=0.01)
    n = len(documents)
    design = np.column_stack([np.ones(2 * n), np.repeat([0.0, 1.0], n)])
    for ours, peer in (
        (
            fit_condition(minuend, subtrahend, documents),
            peer_fit(np.concatenate([subtrahend, minuend]), design, np.tile(documents, 2), gtol=1e-9),
        ),
        (
            fit_paired(minuend - subtrahend, documents),
            peer_fit(minuend - subtrahend, np.ones((n, 1)), documents, gtol=1e-9),
        ),
    ):
        assert ours.coefficient == pytest.approx(peer.fe_params[-1], abs=1e-9)
        assert ours.standard_error == pytest.approx(peer.bse_fe[-1], abs=1e-9)
        assert ours.residual_variance == pytest.approx(peer.scale, rel=1e-6)
        assert ours.variance_ratio * ours.residual_variance == pytest.approx(peer.cov_re[0, 0], rel=1e-5)
        assert ours.p == pytest.approx(peer.pvalues[len(peer.fe_params) - 1], abs=1e-8)


def test_the_condition_coefficient_is_the_mean_difference():
    minuend, subtrahend, documents = clustered(5)
    delta = float((minuend - subtrahend).mean())
    for statsmodels in (True, False):
        assert condition_model(minuend, subtrahend, documents, statsmodels).coefficient == pytest.approx(
            delta, abs=1e-9
        )


@pytest.mark.parametrize("seed", range(3))
def test_both_ways_to_fit_agree_and_say_which_they_are(seed):
    minuend, subtrahend, documents = clustered(seed, delta_sd=0.06)
    for model, args in ((condition_model, (minuend, subtrahend)), (paired_model, (minuend - subtrahend,))):
        by_statsmodels, by_profile = model(*args, documents, True), model(*args, documents, False)
        assert by_statsmodels.p == pytest.approx(by_profile.p, abs=1e-6)
        assert by_statsmodels.note.startswith("statsmodels ")
        assert by_profile.note == "profiled REML"
        assert by_statsmodels.converged
        assert by_profile.converged


def test_a_false_boundary_of_lbfgs_is_not_reported():
    """lbfgs alone stops at document variance 0 with converged=True; the likelihood has an interior maximum."""
    rng = np.random.default_rng(0)
    documents = np.repeat(np.arange(200), rng.integers(1, 8, 200))
    for _ in range(20):
        level = rng.normal(0, 0.05, 200)[documents] + rng.normal(0, 0.3, len(documents))
        delta = rng.normal(0.02, 0.1, len(documents))
        stacked, groups = np.concatenate([level, level + delta]), np.tile(documents, 2)
        design = np.column_stack([np.ones(len(stacked)), np.repeat([0.0, 1.0], len(documents))])
        peer = peer_fit(stacked, design, groups, "lbfgs")
        if peer.converged and peer.cov_re[0, 0] == 0:
            break
    else:
        pytest.skip("lbfgs of this statsmodels finds the maximum")
    model = condition_model(level + delta, level, documents, statsmodels=True)
    assert model.p == pytest.approx(fit_condition(level + delta, level, documents).p, abs=1e-6)
    assert abs(model.p - peer.pvalues[1]) > 1e-3


class Elsewhere:
    """What statsmodels returns when it ends at another place than the likelihood's maximum."""

    def __init__(self, coefficient, error, converged):
        self.fe_params, self.bse_fe, self.converged = np.array([0.0, coefficient]), np.array([1.0, error]), converged


@pytest.mark.parametrize(
    ("coefficient", "error", "converged", "says"),
    [
        (0.5, 0.01, True, "coefficient 0.5 is not"),
        (None, 9.0, True, "is not at the likelihood's maximum"),
        (None, 0.01, False, "not converged"),
        (None, float("nan"), True, "not finite"),
        (float("nan"), 0.01, True, "not finite"),
    ],
)
def test_a_statsmodels_fit_that_is_not_sound_is_never_reported(monkeypatch, coefficient, error, converged, says):
    minuend, subtrahend, documents = clustered(1)
    coefficient = float((minuend - subtrahend).mean()) if coefficient is None else coefficient
    monkeypatch.setattr(MixedLM, "fit", lambda self, **_: Elsewhere(coefficient, error, converged))
    model = condition_model(minuend, subtrahend, documents, statsmodels=True)
    assert (model.p, model.coefficient, model.converged) == (None, None, False)
    for optimiser in ("lbfgs", "bfgs", "cg", "powell"):
        assert f"{optimiser} refused: " in model.note
    assert says in model.note


def test_the_next_optimiser_is_tried_when_one_raises(monkeypatch):
    minuend, subtrahend, documents = clustered(1)
    fit = MixedLM.fit

    def singular(self, method, **options):
        if method == ["lbfgs"]:
            raise np.linalg.LinAlgError("Singular matrix")
        return fit(self, method=method, **options)

    monkeypatch.setattr(MixedLM, "fit", singular)
    model = condition_model(minuend, subtrahend, documents, statsmodels=True)
    assert model.note.startswith("statsmodels bfgs; lbfgs refused: failed (Singular matrix)")
    assert model.p == pytest.approx(fit_condition(minuend, subtrahend, documents).p, abs=1e-6)


def _zero_document_variance():
    """Every document has the same mean score: the estimate lies on the boundary."""
    pattern = np.array([0.2, 0.8, 0.5])
    return np.tile([0.3, 0.75, 0.53], 30), np.tile(pattern, 30), np.repeat(np.arange(30), 3)


@pytest.mark.parametrize("statsmodels", [True, False])
@pytest.mark.parametrize(
    ("minuend", "subtrahend", "documents", "says"),
    [
        (np.full(9, 0.4), np.full(9, 0.4), np.repeat([0, 1, 2], 3), "all values are equal"),
        (np.zeros(9), np.zeros(9), np.repeat([0, 1, 2], 3), "all values are equal"),
        (np.linspace(0, 1, 9), np.linspace(0, 0.5, 9), np.zeros(9, dtype=int), "one document"),
    ],
)
def test_singular_models_have_no_p_and_say_why(statsmodels, minuend, subtrahend, documents, says):
    for model in (
        condition_model(minuend, subtrahend, documents, statsmodels),
        paired_model(minuend - subtrahend, documents, statsmodels),
    ):
        assert model.p is None
        assert model.converged is None
        assert model.note.startswith("not fitted: ")
    assert says in condition_model(minuend, subtrahend, documents, statsmodels).note


@pytest.mark.parametrize("statsmodels", [True, False])
def test_the_condition_model_has_no_p_where_documents_do_not_differ(statsmodels):
    model = condition_model(*_zero_document_variance(), statsmodels)
    assert (model.p, model.converged) == (None, None)
    assert model.note.startswith("not fitted: the document variance is 0")


@pytest.mark.parametrize("statsmodels", [True, False])
def test_the_paired_model_is_least_squares_where_documents_do_not_differ(statsmodels):
    minuend, subtrahend, documents = _zero_document_variance()
    delta = minuend - subtrahend
    fit, model = fit_paired(delta, documents), paired_model(delta, documents, statsmodels)
    error = delta.std(ddof=1) / np.sqrt(len(delta))
    assert fit.variance_ratio == 0
    assert model.converged
    assert model.note.startswith("boundary: ")
    assert fit.coefficient == model.coefficient == pytest.approx(delta.mean(), abs=1e-12)
    assert fit.standard_error == pytest.approx(error, rel=1e-9)
    assert model.p == pytest.approx(2 * scipy.stats.norm.sf(abs(delta.mean()) / error), rel=1e-9)


def test_a_constant_delta_has_no_paired_p_but_a_condition_model():
    _, level, documents = clustered(4)
    assert paired_model(np.full(len(level), 0.1), documents, statsmodels=False).p is None
    assert condition_model(level + 0.1, level, documents, statsmodels=False).p < 0.05


def test_one_query_a_document_leaves_the_paired_model_unidentified():
    minuend, subtrahend, _ = clustered(6)
    documents = np.arange(len(minuend))
    assert "not separable" in paired_model(minuend - subtrahend, documents, statsmodels=False).note
    assert condition_model(minuend, subtrahend, documents, statsmodels=False).p is not None


def test_one_giant_document_is_fitted():
    rng = np.random.default_rng(3)
    documents = np.concatenate([np.zeros(900, dtype=int), np.repeat(np.arange(1, 30), 2)])
    level = rng.normal(0.5, 0.2, 30)[documents] + rng.normal(0, 0.1, len(documents))
    delta = rng.normal(0.02, 0.1, len(documents))
    n = len(documents)
    design = np.column_stack([np.ones(2 * n), np.repeat([0.0, 1.0], n)])
    peer = peer_fit(np.concatenate([level, level + delta]), design, np.tile(documents, 2))
    assert fit_condition(level + delta, level, documents).p == pytest.approx(peer.pvalues[1], abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_profile_is_at_the_maximum_of_statsmodels_own_likelihood(seed):
    """No document variance around ours has a higher restricted likelihood, by statsmodels' function."""
    minuend, subtrahend, documents = clustered(seed, delta_sd=0.08)
    delta = minuend - subtrahend
    ours = fit_paired(delta, documents)
    model = MixedLM(delta, np.ones((len(delta), 1)), groups=documents)
    model.reml, model.cov_pen, model.fe_pen = True, None, None
    here = model.loglike(_cov_re(ours.variance_ratio), profile_fe=True)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert model.loglike(_cov_re(ours.variance_ratio * factor), profile_fe=True) < here


def _cov_re(ratio):
    from statsmodels.regression.mixed_linear_model import MixedLMParams

    return MixedLMParams.from_components(fe_params=np.zeros(1), cov_re=np.array([[ratio]]))


def test_not_identified_is_a_value_error():
    with pytest.raises(NotIdentifiedError):
        fit_paired(np.zeros(4), np.array([0, 0, 1, 1]))
