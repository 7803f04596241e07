"""Mixed models beside the bootstrap (paper D.4): the pre-registered secondary check and its paired form.

``score ~ condition + (1 | document)`` has no per-query effect, so the variance between queries stays in its residual:
it is conservative for small paired effects, and is reported because it was pre-registered.
``delta ~ 1 + (1 | document)`` is the model that the paired design asks for.

Two ways to fit them. Confirmatory rows are fitted by statsmodels, the software of the pre-registration. All others use
the profiled REML of `docstructure.statistics.random_intercept`, which solves the same two models in milliseconds and
agrees with a tightly converged statsmodels far better than to 1e-6.

The profile also watches over statsmodels. From its own start, lbfgs has been seen to stop at a document variance of 0
with ``converged=True`` where the likelihood has an interior maximum, and at QASPER's size each try takes seconds. So
statsmodels starts at the profile's maximum, and a fit that ends elsewhere (a coefficient or p that is off the
profile's) is not reported: the next optimiser is tried.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docstructure.statistics.random_intercept import Fit, NotIdentifiedError, fit_condition, fit_paired

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

OPTIMISERS = ("lbfgs", "bfgs", "cg", "powell")
COEFFICIENT_TOLERANCE = 1e-6
P_TOLERANCE = 1e-6
WARNING_LENGTH = 80
BOUNDARY = "boundary: the document variance is 0; least squares without the random intercept"


@dataclass(frozen=True)
class MixedModel:
    """The tested coefficient of a mixed model; None where it is not available, and the note says why.

    Parameters
    ----------
    coefficient
        Mean difference that the model estimates.
    p
        Two-sided p by the normal distribution.
    converged
        Whether the optimiser converged.
    note
        What fitted it, what was warned, or why a value is missing.
    """

    coefficient: float | None
    p: float | None
    converged: bool | None
    note: str


def condition_model(minuend: Floats, subtrahend: Floats, documents: Codes, statsmodels: bool) -> MixedModel:
    """Fit ``score ~ condition + (1 | document)``.

    Parameters
    ----------
    minuend, subtrahend
        Scores of each query under the two conditions, shape ``(n_queries,)``.
    documents
        Document of each query, numbered from 0 without a gap.
    statsmodels
        Fit by statsmodels, with the profiled REML as a check; otherwise by the profiled REML.
    """
    try:
        profile = fit_condition(minuend, subtrahend, documents)
    except NotIdentifiedError as error:
        return MixedModel(None, None, None, f"not fitted: {error}")
    if not statsmodels:
        return _from_profile(profile)
    condition = np.repeat([0.0, 1.0], len(documents))
    design = np.column_stack([np.ones(len(condition)), condition])
    return _by_statsmodels(np.concatenate([subtrahend, minuend]), design, np.tile(documents, 2), profile)


def paired_model(delta: Floats, documents: Codes, statsmodels: bool) -> MixedModel:
    """Fit ``delta ~ 1 + (1 | document)`` to per-query deltas, shape ``(n_queries,)``; else as `condition_model`."""
    try:
        profile = fit_paired(delta, documents)
    except NotIdentifiedError as error:
        return MixedModel(None, None, None, f"not fitted: {error}")
    # At the boundary statsmodels' covariance is singular: the fit without the random intercept is reported.
    if not statsmodels or profile.variance_ratio == 0:
        return _from_profile(profile)
    return _by_statsmodels(delta, np.ones((len(delta), 1)), documents, profile)


def _from_profile(fit: Fit) -> MixedModel:
    return MixedModel(fit.coefficient, fit.p, True, "profiled REML" if fit.variance_ratio else BOUNDARY)


def _by_statsmodels(values: Floats, design: Floats, documents: Codes, profile: Fit) -> MixedModel:
    """Return the first optimiser's fit that agrees with the profile; the last column of `design` is tested."""
    refused: list[str] = []
    for optimiser in OPTIMISERS:
        result, said = _try(values, design, documents, optimiser, profile)
        reason = _refusal(result, profile) if result is not None else "failed"
        if result is not None and not reason:
            notes = [f"statsmodels {optimiser}", *refused, *said]
            return MixedModel(float(result.fe_params[-1]), _p(result), bool(result.converged), "; ".join(notes))
        refused.append(f"{optimiser} refused: {reason}{f' ({said[0]})' if said else ''}")
    return MixedModel(None, None, False, "; ".join(["statsmodels", *refused]))


def _try(values: Floats, design: Floats, documents: Codes, optimiser: str, profile: Fit) -> tuple[Any, list[str]]:
    """Return a fit, or None where it raised, with what was said: each warning once, in order."""
    from statsmodels.regression.mixed_linear_model import MixedLM, MixedLMParams

    effects = np.linalg.lstsq(design, values)[0]
    effects[-1] = profile.coefficient
    start = MixedLMParams.from_components(fe_params=effects, cov_re=np.array([[profile.variance_ratio]]))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = MixedLM(values, design, groups=documents).fit(reml=True, method=[optimiser], start_params=start)
        except (np.linalg.LinAlgError, ValueError) as error:
            return None, [str(error)[:WARNING_LENGTH]]
    return result, list(dict.fromkeys(str(warning.message)[:WARNING_LENGTH] for warning in caught))


def _refusal(result: Any, profile: Fit) -> str:  # noqa: ANN401 (statsmodels has no types)
    """Return why a fit is not reported; empty when it is sound."""
    coefficient, p = float(result.fe_params[-1]), _p(result)
    if not (math.isfinite(coefficient) and math.isfinite(p)):
        return "not finite"
    if not result.converged:
        return "not converged"
    if abs(coefficient - profile.coefficient) > COEFFICIENT_TOLERANCE:
        return f"coefficient {coefficient:.6g} is not {profile.coefficient:.6g}"
    if abs(p - profile.p) > P_TOLERANCE:
        return f"p {p:.4g} is not at the likelihood's maximum, {profile.p:.4g}"
    return ""


def _p(result: Any) -> float:  # noqa: ANN401
    return math.erfc(abs(float(result.fe_params[-1]) / float(result.bse_fe[-1])) / math.sqrt(2))
