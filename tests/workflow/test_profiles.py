"""The profiles as files: options that exist, GPU rules where they belong, groups that can be scheduled."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yte

from tests.rules import ROOT, rules

LOCAL, SLURM = (ROOT / "profiles" / name / "config.yaml" for name in ("local", "slurm"))
# Rules of these environments compute on a GPU.
GPU_ENVS = {"llm", "embed", "rerank", "retrieval"}


def read(path) -> dict:
    with path.open() as stream:
        return yte.process_yaml(stream)


@pytest.fixture
def slurm(monkeypatch):
    for name in ("ACCOUNT", "CPU_PARTITION", "GPU_PARTITION", "GPU_GRES", "GPU_CONSTRAINT"):
        monkeypatch.delenv(f"DOCSTRUCTURE_SLURM_{name}", raising=False)
    return read(SLURM)


def options() -> set[str]:
    done = subprocess.run((sys.executable, "-m", "snakemake", "--help"), capture_output=True, text=True, check=True)
    return {word.strip(",[]").removeprefix("--") for word in done.stdout.split() if word.startswith(("--", "[--"))}


def test_every_option_exists(slurm):
    known = options()
    for profile in (slurm, read(LOCAL)):
        assert set(profile) <= known, sorted(set(profile) - known)


def test_gpu_rules_get_one_gpu_and_no_other_rule_does(slurm):
    on_gpu = {name for name, wanted in slurm["set-resources"].items() if "gres" in wanted}
    assert on_gpu == {rule.name for rule in rules().values() if rule.env in GPU_ENVS}
    for name in on_gpu:
        assert slurm["set-resources"][name]["slurm_partition"] == "h200"
        assert slurm["set-resources"][name]["gres"] == "gpu:h200:1"
    assert slurm["default-resources"]["slurm_partition"] == "cpu"
    assert "slurm_account" not in slurm["default-resources"]


def test_site_values_are_set_in_one_place(monkeypatch):
    values = {
        "ACCOUNT": "lab7",
        "CPU_PARTITION": "batch",
        "GPU_PARTITION": "gpu",
        "GPU_GRES": "gpu:1",
        "GPU_CONSTRAINT": "h200",
    }
    for name, value in values.items():
        monkeypatch.setenv(f"DOCSTRUCTURE_SLURM_{name}", value)
    profile = read(SLURM)
    assert profile["default-resources"]["slurm_account"] == "lab7"
    assert profile["default-resources"]["slurm_partition"] == "batch"
    for wanted in profile["set-resources"].values():
        if "gres" in wanted:
            assert (wanted["slurm_partition"], wanted["gres"], wanted["constraint"]) == ("gpu", "gpu:1", "h200")


def test_memory_and_time_grow_with_the_attempt(slurm):
    for wanted in (slurm["default-resources"], *slurm["set-resources"].values()):
        assert wanted["mem_mb"].startswith("attempt * ")
        assert wanted.get("runtime", "attempt * ").startswith("attempt * ")
    assert slurm["retries"] >= 1


def test_groups_hold_rules_of_one_partition(slurm):
    assert set(slurm["groups"]) <= set(rules())
    for group in set(slurm["groups"].values()):
        members = [name for name, of in slurm["groups"].items() if of == group]
        partitions = {slurm["set-resources"].get(name, {}).get("slurm_partition", "cpu") for name in members}
        assert len(partitions) == 1, (group, partitions)


def test_both_profiles_agree_on_what_is_done(slurm):
    for key in ("rerun-triggers", "max-checksum-file-size", "rerun-incomplete", "keep-going"):
        assert read(LOCAL)[key] == slurm[key]
