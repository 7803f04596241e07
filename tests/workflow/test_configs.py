"""Configs as users write them: refused with a message, or run with what the corpus can have."""

import time

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("conditions: [A0, A2", "conditions: [A9, A2", "conditions: 'A9' is not defined; allowed: A0, A1"),
        ("embedders: [all-minilm-l6-v2]", "embedders: [e5]", "embedders: 'e5' is not defined"),
        ("t_min: 20", "t_min: 90", "chunking.t_min: is 90; allowed: at most half of chunking.t_max (80)"),
        ("metric: cov_ndcg@10", "metric: map@10", 'preregistration.cell.metric: is "map@10"; allowed: cov_ndcg@K'),
        ("top_k: 20", "top_k: 20\ntopk: 5", "(top level): unknown key topk"),
    ],
)
def test_a_broken_config_is_refused_before_any_job(fresh, old, new, says):
    fresh.edit("tiny.yaml", old, new)
    said = fresh.run(check=False)
    assert says in said
    assert "Job stats" not in said
    assert not fresh.path("").exists()


def test_a_corpus_without_gold_runs_without_its_g_conditions(fresh):
    for _ in range(2):  # what the corpus has, and what eligibility asks for
        fresh.edit("tiny.yaml", "structures: [gold, texttiling]", "structures: [texttiling]")
    said = fresh.run("-n")
    assert "G3 is left out: corpus tiny declares no structure gold" in said
    assert "condition=G3" not in said
    assert "condition=A3" in said


def test_a_corpus_that_declares_gold_wrongly_is_told_so_by_name(fresh):
    for file in (fresh.folder / "corpus").glob("*.md"):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        file.write_text("\n".join(lines))
    said = fresh.run(check=False)
    assert "corpus tiny, structure gold" in said
    assert "definitions.corpora.tiny.structures" in said


def test_a_question_with_a_wrong_quote_names_file_and_line(fresh):
    fresh.edit("corpus/questions.jsonl", "by farmers near the river of the loom", "by nobody")
    said = fresh.run(check=False)
    assert "questions.jsonl:4" in said
    assert not fresh.path("tiny/documents.parquet").exists()


def test_a_model_that_cannot_be_had_is_said_before_any_job(fresh):
    fresh.edit("tiny.yaml", "sections: {structure: texttiling}", "sections: {structure: gemma}")
    for _ in range(2):
        fresh.edit("tiny.yaml", "structures: [gold, texttiling]", "structures: [gold, gemma]")
    assert fresh.planned()["complete_structure_shard"] == 1
    said = fresh.run(check=False)
    assert "model gemma-4-26b-a4b: google/gemma-4-26B-A4B-it" in said
    assert "HF_HUB_OFFLINE" in said
    assert not fresh.path("tiny/documents.parquet").exists()


def test_offline_looks_for_no_model_and_names_the_cache_that_lacks_answers(fresh):
    fresh.edit("tiny.yaml", "sections: {structure: texttiling}", "sections: {structure: gemma}")
    fresh.edit("tiny.yaml", "corpora: [tiny]", "corpora: [tiny]\nllm: {offline: true}")
    for _ in range(2):
        fresh.edit("tiny.yaml", "structures: [gold, texttiling]", "structures: [gold, gemma]")
    said = fresh.run(check=False)
    assert "HF_HUB_OFFLINE" not in said
    assert "4 of 4 answers of vllm:google/gemma-4-26B-A4B-it" in said
    assert "are not in the cache cache/llm" in said
    assert fresh.path("tiny/documents.parquet").exists()
    assert not fresh.path("tiny/shards/structures/gemma.0-of-1.parquet").exists()


def test_dry_run_of_the_papers_grid(fresh):
    """66 cells: that it is planned, and not in minutes; the time itself is an aim of make bench."""
    import subprocess

    from tests.workflow.conftest import SNAKEMAKE, environment

    started = time.monotonic()
    done = subprocess.run(
        [*SNAKEMAKE, "-n", "--quiet", "all"],
        cwd=fresh.folder,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - started < 60
