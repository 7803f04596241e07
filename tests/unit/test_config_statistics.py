"""What statistics would find out only after the whole grid ran is refused before any job."""

import dataclasses

import pytest

from docstructure.config import ConfigError, check
from docstructure.config_statistics import EMBEDDER_DEFAULTS, NUMERICS, RERANKED
from docstructure.embedders.sentence_transformer import Options
from docstructure.reranking.cross_encoder import Options as CrossEncoderOptions
from docstructure.reranking.maxsim import Options as MaxSimOptions
from tests.unit.test_config import SCHEMA, load, merge, nested

RERANKER = "definitions/rerankers/bge-reranker-v2-m3"
LARGE, SMALL = "bge-large-en-v1.5", "bge-small-en-v1.5"


def config(**changes):
    merged = load("config/config.yaml")
    for path, value in changes.items():
        merged = merge(merged, nested(path, value))
    return merged


def said(**changes):
    with pytest.raises(ConfigError) as error:
        check(config(**changes), SCHEMA)
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"metrics": ["cov_ndcg@10", "recall@500"]}, "metrics.1: 'recall@500' is of 500 ranks; allowed: at most top_k"),
        ({"metrics": ["cov_ndcg@10", "recall@101"]}, "allowed: at most top_k, which is 100"),
        ({"metrics": ["cov_ndcg@10"], "top_k": 5}, "metrics.0: 'cov_ndcg@10' is of 10 ranks; allowed: at most top_k"),
        (
            {f"{RERANKER}/cross_encoder/top": 101},
            "bge-reranker-v2-m3.cross_encoder.top: is 101; allowed: at most top_k",
        ),
        ({"definitions/contrasts/C1": ["A3", "A3"]}, "contrasts.C1: is [A3, A3]; allowed: two different conditions"),
        ({"exploration/power/alpha": 0.2}, "exploration.power.alpha: is 0.2; allowed: maximum 0.1"),
        ({"exploration/power/target_power": 0.4}, "target_power: is 0.4; allowed: minimum 0.5"),
        ({"exploration/power/effects": []}, "exploration.power.effects: is []; allowed: minItems 1"),
        ({"exploration/power/effects": [-0.1]}, "exploration.power.effects.0: is -0.1; allowed: minimum 0"),
        ({"exploration/power/effects": [0.1, 0.1]}, "power.effects: is [0.1, 0.1]; allowed: uniqueItems"),
        ({"exploration/power/effects": [float("inf")]}, "power.effects: is inf; allowed: finite numbers"),
        ({"exploration/power/alpha": float("nan")}, "power.alpha: is nan; allowed: finite numbers"),
    ],
)
def test_numbers_that_no_result_can_have(changes, says):
    assert says in said(**changes)


def test_a_reranker_without_top_has_the_default():
    options = {"model": {"hub": "a/b"}}
    message = said(metrics=["cov_ndcg@10"], top_k=20, **{"definitions/rerankers/other": {"cross_encoder": options}},
                   rerankers=["none", "other"])  # fmt: skip
    assert "definitions.rerankers.other.cross_encoder.top: is 50 by default; allowed: at most top_k" in message
    for kind in (CrossEncoderOptions, MaxSimOptions):
        assert next(f.default for f in dataclasses.fields(kind) if f.name == "top") == RERANKED


def test_a_reranker_that_does_not_run_may_want_more_ranks():
    check(config(metrics=["cov_ndcg@10"], top_k=20, rerankers=["none"]), SCHEMA)


def test_budgets_of_tokens_are_no_ranks():
    check(config(metrics=["cov_ndcg@10", "mrr", "coverage@2048t"], top_k=50), SCHEMA)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (["A2", "A3-d1", "A3-d1"], "is [A2, A3-d1, A3-d1]; allowed: each condition once"),
        (["A3", "A3-d2", "A3-d1", "A2"], "of depths [3, 2, 1, 0]; allowed: heading paths that get deeper"),
        (["A0", "A1"], "of depths [0, no path]; allowed"),
        (["A0", "A3-d1"], "of boundaries [fixed, induced]; allowed: conditions of the same boundaries"),
        (["A3-d2", "A4"], "of retrieval [flat, two_stage]; allowed: conditions of the same retrieval"),
        (["A3-d2", "P"], "allowed: paths alone, or placebos of one seed alone"),
    ],
)
def test_a_ladder_that_is_none(steps, says):
    assert f"exploration.ladders.depth: is [{', '.join(steps)}]" in (
        message := said(**{"exploration/ladders/depth": steps})
    )
    assert says in message


def test_a_ladder_may_begin_with_a_path():
    check(config(**{"exploration/ladders/depth": ["A3-d1", "A3-d2", "A3"]}), SCHEMA)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"preregistration/cell/embedder": SMALL, "preregistration/cell/reranker": "bge-reranker-v2-m3"},
            f"embedder {SMALL!r} with reranker 'bge-reranker-v2-m3' is in no corpus's grid",
        ),
        ({"embedders": [SMALL]}, f"allowed: {SMALL} with none"),
        ({"rerankers": ["bge-reranker-v2-m3"]}, f"allowed: {LARGE} with bge-reranker-v2-m3"),
    ],
)
def test_a_registered_cell_that_no_grid_has(changes, says):
    message = said(**changes)
    assert "preregistration.cell: embedder" in message
    assert says in message


def variant(**options):
    """Return changes that add a variant of the large embedder and pair both."""
    known = load("config/config.yaml")["definitions"]["embedders"][LARGE]["sentence_transformer"]
    return {
        "embedders": [SMALL, LARGE, "variant"],
        "definitions/embedders/variant": {"sentence_transformer": known | options},
        "exploration/noise": [[LARGE, "variant"]],
    }


def test_a_pair_may_differ_in_numerics_and_name_defaults():
    numerics = {"dtype": "bfloat16", "tf32": True, "batch_rows": 4, "length_step": 8, "device": "cpu"}
    assert set(numerics) | {"attention"} == set(NUMERICS)
    check(config(**variant(**numerics, attention="eager", **EMBEDDER_DEFAULTS)), SCHEMA)


def test_the_code_has_these_options_and_defaults():
    fields = {field.name: field.default for field in dataclasses.fields(Options)}
    assert set(fields) == {"model", "pooling", *NUMERICS, *EMBEDDER_DEFAULTS}
    assert {name: fields[name] for name in EMBEDDER_DEFAULTS} == EMBEDDER_DEFAULTS


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": {"hub": "a/b"}}, "differ in model ("),
        ({"pooling": "mean"}, "differ in pooling ('cls', 'mean')"),
        ({"normalize": False}, "differ in normalize (True, False)"),
        ({"query_instruction": "find: "}, "differ in query_instruction ('', 'find: ')"),
        ({"max_length": 256, "dtype": "float16"}, "differ in max_length (512, 256)"),
    ],
)
def test_a_pair_that_differs_in_more_than_numerics(options, says):
    message = said(**variant(**options))
    assert f"exploration.noise.0: {LARGE!r} and 'variant' {says}" in message
    assert "allowed: a difference in dtype, tf32, batch_rows, length_step, device, attention only" in message


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"embedders": [SMALL, LARGE]}, "noise.0: 'variant' is not run; allowed: bge-small-en-v1.5, bge-large"),
        ({"exploration/noise": [[LARGE, LARGE]]}, "allowed: two different embedders"),
        ({"exploration/noise": [[LARGE, "variant"], ["variant", LARGE]]}, "noise.1: is [variant, bge-large-en-v1.5]"),
        (
            {"rerankers": ["bge-reranker-v2-m3"], "preregistration/cell/reranker": "bge-reranker-v2-m3"},
            "no reranker runs on both of [bge-large-en-v1.5, variant]",
        ),
    ],
)
def test_a_pair_without_two_embedders_of_its_own(changes, says):
    assert says in said(**(variant(dtype="float16") | changes))
