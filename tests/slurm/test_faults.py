"""What goes wrong on a cluster: each is reported with its log, nothing is half-written, the next call ends equal.

The job of a group that fails is reported with the path of its log only; of a single rule with SLURM's state as well.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.slurm.conftest import STATE, Job, Run, SlurmCheckout, completed, jobs, run_name, wait_for

PROFILE = "profiles/slurm/config.yaml"
VECTORS = "results/tiny/vectors/all-minilm-l6-v2/induced.none.parquet"
VIEW = "results/tiny/views/induced.path3.parquet"
# Put into the script of embed_chunks: the first batch is in the store at once, the second does not come in time.
SLOW = """
import time
from docstructure.embedders.sentence_transformer import SentenceTransformerEmbedder as E
from docstructure.vector_store import VectorStore
encode, add = E.encode, VectorStore.add
def slowly(self, texts):
    for batch in encode(self, texts):
        yield batch
        time.sleep(600)
def at_once(self, *arguments):
    add(self, *arguments)
    self.flush()
E.encode, VectorStore.add = slowly, at_once
"""


def state(job: Job) -> str:
    done = subprocess.run(
        ("squeue", "-h", "--states=all", f"--jobs={job.id}", "--format=%T"), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def reported(run: Run, job: Job) -> bool:
    """Whether a run's messages name a log file of the job that exists."""
    return any(
        Path(path).is_file() for path in re.findall(rf"log: (?:\S+, )*(/\S+/logs/slurm/\S+/{job.id}\.log)", run.said)
    )


def remove(checkout: SlurmCheckout, *names: str) -> None:
    for name in names:
        (checkout.folder / name).unlink()


def cell(checkout: SlurmCheckout, condition: str) -> list[str]:
    return [checkout.cell(condition, name) for name in ("ranking.parquet", "scores.parquet")]


def assert_complete(checkout: SlurmCheckout, cluster: SlurmCheckout) -> None:
    assert checkout.digests() == cluster.digests()
    assert checkout.partial_files() == []


def test_memory_overuse_is_killed_and_retried_with_more(cluster, finished):
    """The scorer needs more than 200 MB: SLURM kills it, and its second attempt asks for eight times as much."""
    remove(finished, finished.cell("A2"))
    finished.edit(PROFILE, "set-resources:\n", "set-resources:\n  score: {mem_mb: 200 * attempt**3}\n")
    run = finished.submit("--", finished.cell("A2"))
    first, second = [job for job in run.jobs if job.name == "score"]
    assert first.state in {"OUT_OF_MEMORY", "FAILED", "CANCELLED"}
    assert f"StepId={first.id}.0 exceeded memory limit" in (STATE / "log" / "slurmd-cpu01.log").read_text()
    assert reported(run, first)
    assert f"SLURM-job '{first.id}' failed" in run.said
    assert second.state == "COMPLETED"
    assert_complete(finished, cluster)


def test_time_limit_and_scancel(cluster, finished):
    """Two faults in one run, not retried: each is reported, and the store keeps what was embedded before the limit."""
    remove(finished, VECTORS, VIEW)
    shutil.rmtree(finished.folder / "cache")
    script = finished.folder / "workflow" / "scripts" / "embed_chunks.py"
    original = script.read_text()
    script.write_text(original.replace('if __name__ == "__main__":\n', f'{SLOW}\nif __name__ == "__main__":\n'))
    finished.edit(PROFILE, '"attempt * 120"', '"1"')
    begun = finished.begin("--retries", "0", "--", VECTORS, VIEW)
    cancelled = begun.running("views")
    subprocess.run(("scancel", cancelled.id), check=True)
    limited = begun.running("embed_chunks")
    run = begun.end()
    assert run.code != 0
    assert (state(cancelled), state(limited)) == ("CANCELLED", "TIMEOUT")
    assert completed(limited)["JobState"] == "TIMEOUT"
    assert reported(run, cancelled)
    assert reported(run, limited)
    assert "SLURM status is: 'TIMEOUT'" in run.said
    for name in (VECTORS, VIEW):
        assert not (finished.folder / name).exists()

    script.write_text(original)
    finished.edit(PROFILE, '"1"', '"attempt * 120"')
    finished.submit("--", VECTORS, VIEW)
    said = finished.path("tiny/logs/embed_chunks.all-minilm-l6-v2.induced.none.log").read_text()
    (stored,) = re.findall(r"(\d+) in the store", said)
    assert int(stored) > 0
    assert_complete(finished, cluster)


def resume_node() -> None:
    """Bring the lost node back; the call fails where it came back by itself (ReturnToService=2)."""
    subprocess.run(("scontrol", "update", "nodename=gpu01", "state=resume"), check=False, capture_output=True)


@pytest.fixture
def nodes():
    yield
    resume_node()


@pytest.mark.usefixtures("nodes")
def test_a_node_that_goes_down_is_survived(cluster, finished):
    """The job of a lost node is reported, submitted again, and waits for a node."""
    remove(finished, *cell(finished, "A2"))
    begun = finished.begin("--", finished.cell("A2"))
    lost = begun.running("search")
    subprocess.run(("scontrol", "update", "nodename=gpu01", "state=down", "reason=test"), check=True)
    wait_for(lambda: state(lost) != "RUNNING", "lost job", 60, begun.process)
    assert state(lost) == "NODE_FAIL"
    resume_node()
    run = begun.end()
    assert run.code == 0, run.said
    assert reported(run, lost)
    assert [job.state for job in run.jobs if job.name == "search"] == ["NODE_FAIL", "COMPLETED"]
    assert_complete(finished, cluster)


def test_ctrl_c_cancels_and_the_next_call_completes(cluster, finished):
    targets = [finished.cell(condition) for condition in ("A2", "A4")]
    remove(finished, *cell(finished, "A2"), *cell(finished, "A4"))
    begun = finished.begin("--", *targets)
    hit = begun.running("search")
    begun.interrupt()
    run = begun.end()
    assert run.code != 0
    over = {"CANCELLED", "COMPLETED"}
    wait_for(lambda: {job.state for job in jobs(run_name(run.said))} <= over, "end of all jobs", 60)
    assert state(hit) == "CANCELLED"
    assert not any((finished.folder / name).exists() for name in targets)
    finished.submit("--", *targets)
    assert_complete(finished, cluster)


def test_two_runs_in_one_checkout_refuse(cluster, finished):
    """The second is told why and what to do; the first goes on."""
    remove(finished, finished.cell("A2"))
    begun = finished.begin("--", finished.cell("A2"))
    begun.running("score")
    second = finished.submit("--", finished.cell("A2"), check=False)
    assert second.code != 0
    assert "Directory cannot be locked" in second.said
    assert "--unlock" in second.said
    assert second.jobs == []
    assert begun.end().code == 0
    assert_complete(finished, cluster)
