"""The tables print what the artifacts hold: signs, p-values that replicates cannot tell from 0, statuses."""

import polars as pl

from docstructure.contracts.audit import AUDIT
from docstructure.contracts.contrasts import CONTRASTS
from docstructure.contracts.means import MEANS
from docstructure.report.answers import Inference
from docstructure.report.tables import audit_table, build_tables, contrasts_table, means_table

CELL = {"metric": "cov_ndcg@10", "embedder": "e", "reranker": "none"}


def contrast(**change):
    row = dict.fromkeys(CONTRASTS.names) | {
        "contrast": "C1",
        "minuend": "A3",
        "subtrahend": "A1",
        "confirmatory": True,
        "status": "tested",
        "n_queries": 951,
        "n_documents": 184,
        "delta": 0.0218,
        "ci_low": 0.0052,
        "ci_high": 0.038,
        "p": 0.0,
        "p_holm": 0.0,
        "family_size": 4,
        "dz": 0.09,
        "p_mixedlm": 0.12,
        "mixedlm_note": "",
        "paired_note": "",
        **CELL,
    }
    return row | change


def table(*rows, alpha=0.05):
    frame = CONTRASTS.check(CONTRASTS.frame(list(rows)), "x")
    return contrasts_table(frame.select(pl.lit("wiki").alias("corpus"), pl.all()), CELL, Inference(alpha, 10_000))


def test_a_p_of_zero_is_below_what_the_replicates_can_tell():
    line = table(contrast()).splitlines()[-1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        "C1: A3 − A1", "wiki", "+0.0218", "[+0.0052, +0.0380]", "< 0.0002", "< 0.0008", "+0.09", "0.1200",
        "951 (184)", "confirmatory",
    ]  # fmt: skip


def test_a_contrast_that_was_not_tested_says_why_and_prints_no_number():
    nulls = dict.fromkeys(("delta", "ci_low", "ci_high", "p", "p_holm", "dz", "p_mixedlm", "family_size"))
    line = table(contrast(status="corpus wiki declares no structure gold", **nulls)).splitlines()[-1]
    assert "corpus wiki declares no structure gold" in line
    assert line.count("n/a") == 7
    assert "0." not in line


def test_intervals_are_named_by_their_coverage():
    assert "| 95 % CI " in table(contrast())
    wide = table(contrast(), alpha=0.01)
    assert "| 99 % CI " in wide
    assert "95 %" not in wide


def test_the_stage_takes_the_coverage_of_the_run(tmp_path):
    CONTRASTS.write(CONTRASTS.frame([contrast()]), str(tmp_path / "contrasts.parquet"))
    files = {f"{name}_{form}": str(tmp_path / f"{name}.{form}") for name in ("contrasts", "means", "audit")
             for form in ("csv", "md")}  # fmt: skip
    for contract in (MEANS, AUDIT):
        contract.write(contract.frame([]), str(tmp_path / f"{contract.name}.parquet"))
    build_tables(
        corpora=["wiki"],
        conditions=["A1", "A3"],
        cell=CELL,
        bootstrap_iters=10_000,
        confidence=0.9,
        contrast_files=[str(tmp_path / "contrasts.parquet")],
        mean_files=[str(tmp_path / "means.parquet")],
        audit_files=[str(tmp_path / "audit.parquet")],
        **files,
    )
    assert "| 90 % CI " in (tmp_path / "contrasts.md").read_text()


def test_other_cells_stay_out_of_the_table():
    text = table(contrast(), contrast(embedder="other"), contrast(metric="mrr"))
    assert text.count("C1") == 1


def test_means_in_the_order_of_the_conditions_with_gaps_named():
    rows = [("wiki", "A0", 0.3624), ("wiki", "A3", 0.4131)]
    frame = pl.DataFrame(rows, schema=["corpus", "condition", "mean"], orient="row")
    frame = frame.with_columns(pl.lit("e").alias("embedder"), pl.lit("none").alias("reranker"), metric=pl.lit("mrr"))
    text = means_table(frame, ["A0", "A1", "A3"], {**CELL, "metric": "mrr"})
    assert [cell.strip() for cell in text.splitlines()[-1].strip("|").split("|")] == [
        "wiki", "e", "none", "0.362", "n/a", "0.413",
    ]  # fmt: skip


def test_failed_invariants_come_first():
    frame = pl.DataFrame(
        {
            "corpus": "wiki",
            "invariant": ["fine", "broken"],
            "value": [0.0, 9.5],
            "limit": [0.0, 5.0],
            "holds": [True, False],
        }
    )
    lines = audit_table(frame.with_columns(corpus=pl.lit("wiki"))).splitlines()
    assert lines[0] == "Design invariants: 1 of 2 do not hold"
    assert "broken" in lines[4]
    assert "NO" in lines[4]
