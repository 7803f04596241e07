"""The tiny workflow on a real SLURM (tests/slurm/up.sh), with profiles/slurm as it is and a stand-in for conda."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow.conftest import Checkout, environment, make_checkout

HERE = Path(__file__).parent
STATE = Path(os.environ.get("SLURM_TEST_STATE", "/tmp/docstructure-slurm"))
# As profiles/slurm, but for what only costs time here: jobs are looked at sooner, and files are seen at once.
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--profile", "profiles/slurm", "--configfile", "tiny.yaml")
SOONER = ("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5")
GROUPS = ("corpus", "candidates", "views", "search", "probe", "summary")
CELLS = ("A2", "A3", "A4")
# The tables stand for the whole: their DAG is as deep as any, and a good deal narrower than all diagnostics.
TABLES = "results/report/contrasts.md"
# Three cells over two views, so that the DAG stays narrow: one view of its own, and one that two cells share.
SMALLER = ("conditions: [A0, A2, A3-d1, A3-d2, A3, P, A4, G3]", f"conditions: [{', '.join(CELLS)}]")


def missing() -> str:
    """Return why there is no test cluster; empty where there is one."""
    if shutil.which("sinfo") is None:
        return "SLURM is not installed (tests/slurm/up.sh installs and starts one; needs root)"
    if not (STATE / "log").is_dir():
        return f"no test cluster has been started in {STATE} (tests/slurm/up.sh)"
    done = subprocess.run(("sinfo", "-h", "-o", "%P %N"), capture_output=True, text=True, check=False, timeout=30)
    found = set(done.stdout.split())
    return "" if {"h200", "gpu01", "cpu01"} <= found else f"the test cluster does not answer: {done.stderr.strip()}"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """Skip with a reason where there is no SLURM; fail there if REQUIRE_SLURM is set (CI sets it)."""
    ours = [item for item in items if HERE in item.path.parents]
    reason = missing() if ours else ""
    if reason and os.environ.get("REQUIRE_SLURM"):
        raise pytest.UsageError(f"REQUIRE_SLURM is set, and {reason}")
    for item in ours:
        item.add_marker(pytest.mark.slurm)
        item.add_marker(pytest.mark.xdist_group("slurm"))
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@dataclass(frozen=True)
class Job:
    """What SLURM has on record of one job; `gres` is N/A without a GPU, `comment` is the plugin's."""

    id: str
    state: str
    partition: str
    gres: str
    node: str
    comment: str

    @property
    def name(self) -> str:
        """The rule, or the group of rules: the plugin's comment is rule_<rule>_wildcards_… or rule_<group>_<rules>."""
        name = self.comment.removeprefix("rule_").split("_wildcards_")[0]
        return next((group for group in GROUPS if name.startswith(f"{group}_")), name)


def jobs(run: str) -> list[Job]:
    """Return the jobs of a run (its job name) that SLURM remembers, finished ones included, in order."""
    done = subprocess.run(
        ("squeue", "-h", "--states=all", f"--name={run}", "--format=%i|%T|%P|%b|%N|%k"),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [Job(*line.split("|")) for line in done.stdout.splitlines()]
    return sorted(found, key=lambda job: int(job.id))


def completed(job: Job) -> dict[str, str]:
    """Return what the job completion log has on record of a job."""
    for line in (STATE / "log" / "jobcomp.txt").read_text().splitlines():
        record = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if record.get("JobId") == job.id:
            return record
    raise AssertionError(f"job {job.id} is not in jobcomp.txt")


@dataclass(frozen=True)
class SlurmCheckout(Checkout):
    """A checkout that is run through SLURM."""

    def command(self, *arguments: str) -> list[str]:
        options = [*SOONER, *arguments]
        return [*SNAKEMAKE, *options]

    def environment(self) -> dict[str, str]:
        standin = str(HERE / "standin" / "bin")
        # No offline switches: setting them in jobs is the workflow's business.
        base = {key: value for key, value in environment().items() if not key.endswith("_OFFLINE")}
        return base | {"PATH": f"{standin}:{os.environ['PATH']}", "STANDIN_PYTHON": sys.executable}

    def submit(self, *arguments: str, check: bool = True, limit: float = 900) -> Run:
        """Run Snakemake to its end; return what it printed and the jobs that SLURM ran for it."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=self.environment(),
            check=False,
            timeout=limit,
        )
        said = done.stdout + done.stderr
        assert not check or done.returncode == 0, said
        return Run(done.returncode, said)

    def begin(self, *arguments: str) -> Begun:
        """Start Snakemake and return at once."""
        log = self.folder / "said.txt"
        with log.open("w") as file:
            process = subprocess.Popen(
                # a shell that starts its jobs in the background, as CI may, has them ignore Ctrl-C
                ["env", "--default-signal=INT", *self.command(*arguments)],
                cwd=self.folder,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self.environment(),
                start_new_session=True,
            )
        return Begun(process, log)

    def cell(self, condition: str, name: str = "scores.parquet") -> str:
        return f"results/tiny/cells/{condition}/all-minilm-l6-v2/none/{name}"

    def partial_files(self) -> list[Path]:
        """Return what is left of files that were being written."""
        return [path for path in self.folder.rglob("*.partial") if ".snakemake" not in path.parts]


@dataclass(frozen=True)
class Run:
    """A run that has ended: its exit code and all that it printed."""

    code: int
    said: str

    @property
    def jobs(self) -> list[Job]:
        return jobs(run_name(self.said)) if "SLURM run ID" in self.said else []


@dataclass(frozen=True)
class Begun:
    """A run that goes on."""

    process: subprocess.Popen[bytes]
    log: Path

    def running(self, name: str, limit: float = 180) -> Job:
        """Wait until SLURM runs a job of a rule or group, and return it."""
        found: list[Job] = []

        def there() -> bool:
            said = self.log.read_text()
            found[:] = [job for job in jobs(run_name(said)) if job.name == name] if "SLURM run ID" in said else []
            found[:] = [job for job in found if job.state == "RUNNING"]
            return bool(found)

        wait_for(there, f"a running job {name}", limit, self.process)
        return found[0]

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.kill(self.process.pid, signal.SIGINT)

    def end(self, limit: float = 400) -> Run:
        """Wait for the end."""
        code = self.process.wait(limit)
        return Run(code, self.log.read_text())


def run_name(said: str) -> str:
    return said.split("SLURM run ID: ", 1)[1].split(maxsplit=1)[0]


def wait_for(
    happened: Callable[[], bool], what: str, limit: float, process: subprocess.Popen[bytes] | None = None
) -> None:
    end = time.monotonic() + limit
    while not happened():
        assert process is None or process.poll() is None, f"the run ended before {what}"
        assert time.monotonic() < end, f"no {what} within {limit:.0f} s"
        time.sleep(0.3)


@pytest.fixture(scope="session")
def local(tmp_path_factory) -> Checkout:
    """The same workflow run whole on this machine with profiles/local."""
    checkout = make_checkout(tmp_path_factory.mktemp("local") / "checkout")
    checkout.edit("tiny.yaml", *SMALLER)
    checkout.run("--", TABLES)
    return checkout


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> SlurmCheckout:
    """A checkout in which nothing has been run."""
    checkout = SlurmCheckout(make_checkout(tmp_path_factory.mktemp("cluster") / "checkout").folder)
    checkout.edit("tiny.yaml", *SMALLER)
    return checkout


@pytest.fixture(scope="session")
def one_cell(cluster) -> Run:
    """One cell, asked for alone."""
    return cluster.submit("--", cluster.cell("A3"))


@pytest.fixture(scope="session")
def three_cells(cluster, one_cell) -> Run:
    """A batch of three, of which the first is there."""
    return cluster.submit("--", *map(cluster.cell, CELLS))


@pytest.fixture(scope="session")
def everything(cluster, three_cells) -> Run:
    """The whole grid with its tests and tables."""
    return cluster.submit("--", TABLES)


@pytest.fixture
def finished(cluster, everything, tmp_path) -> SlurmCheckout:
    """A copy of the finished checkout, metadata and environments included, that a test may change."""
    folder = tmp_path / "checkout"
    shutil.copytree(cluster.folder, folder, symlinks=True)
    return SlurmCheckout(folder)
