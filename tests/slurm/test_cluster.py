"""One cell, three cells, everything, nothing: what SLURM has on record, and bytes equal to a run on one machine."""

from __future__ import annotations

import pytest

from tests.rules import ROOT, rules
from tests.slurm.conftest import CELLS, TABLES, completed

ON_GPU = {"embed_chunks", "embed_queries", "search"}


@pytest.fixture(scope="module")
def all_jobs(one_cell, three_cells, everything):
    return [*one_cell.jobs, *three_cells.jobs, *everything.jobs]


def test_gpu_rules_ran_on_a_gpu_and_nothing_else_did(all_jobs):
    assert {job.name for job in all_jobs} >= ON_GPU | {"corpus", "candidates", "views", "score", "summary"}
    for job in all_jobs:
        record = completed(job)
        assert record["JobState"] == "COMPLETED", job
        expected = ("h200", "gpu01", True) if job.name in ON_GPU else ("cpu", "cpu01", False)
        assert (record["Partition"], record["NodeList"], "gpu:h200:1" in job.gres) == expected, job


def test_results_equal_those_of_one_machine(cluster, everything, local):
    assert cluster.digests() == local.digests()
    for name in ("contrasts.md", "means.csv", "audit.csv"):
        assert cluster.path(f"report/{name}").read_bytes() == local.path(f"report/{name}").read_bytes()


def test_one_cell_alone_runs_its_ancestors_only(one_cell):
    names = [job.name for job in one_cell.jobs]
    for name in ("corpus", "candidates", "views", "embed_chunks", "embed_queries", "search", "score"):
        assert names.count(name) == 1, name
    assert "summary" not in names


def test_three_cells_share_what_is_there(three_cells):
    names = [job.name for job in three_cells.jobs]
    assert names.count("search") == names.count("score") == len(CELLS) - 1
    assert names.count("embed_chunks") == 1  # A4 reads A3's vectors
    assert not {"corpus", "candidates", "embed_queries"} & set(names)


def test_steps_after_the_scores_are_one_job(everything):
    names = [job.name for job in everything.jobs]
    assert names.count("summary") == 1
    assert not {"compute_contrasts", "compute_means", "audit", "report_tables"} & set(names)


def test_a_second_call_submits_nothing(cluster, everything):
    run = cluster.submit("--", TABLES)
    assert "Nothing to be done" in run.said
    assert run.jobs == []


def test_each_rule_ran_in_its_declared_environment(cluster, everything):
    """Environments are made by a stand-in for conda: which one a rule gets is real, what is in it is not."""
    ran: dict[str, set[str]] = {}
    folder = cluster.folder / ".snakemake" / "conda"
    for calls in folder.glob("*.calls"):
        pinned = calls.with_suffix(".yaml").read_bytes()
        (env,) = (file.stem for file in (ROOT / "envs").glob("*.yaml") if file.read_bytes() == pinned)
        for line in calls.read_text().splitlines():
            if line.endswith(".py"):
                assert line.startswith("HF_HUB_OFFLINE=1 "), "jobs on nodes must not ask the hub"
                script = line.rsplit("/", 1)[1].split(".", 1)[1]
                ran.setdefault(script, set()).add(env)
    expected = {rule.script: {rule.env} for rule in rules().values() if rule.script in ran}
    assert ran == expected
    assert len(ran) >= 14
    assert cluster.path("tiny/audit.parquet").is_file()
