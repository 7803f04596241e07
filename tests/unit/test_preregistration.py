"""The record is only ever appended to."""

import json

from docstructure.preregistration import record

CELL = {"cell": {"metric": "mrr", "embedder": "e", "reranker": "none"}, "contrasts": ["C1"]}


def entries(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_recorded_once_and_appended_to_when_it_changes(tmp_path):
    path = tmp_path / "results" / "preregistration.jsonl"
    record(CELL, {"C1": ["A3", "A1"]}, str(path))
    first = path.read_text()
    record(CELL, {"C1": ["A3", "A1"]}, str(path))
    assert path.read_text() == first
    record(CELL, {"C1": ["A3", "A0"]}, str(path))
    assert path.read_text().startswith(first)
    assert [entry["contrasts"]["C1"] for entry in entries(path)] == [["A3", "A1"], ["A3", "A0"]]
    assert len({entry["digest"] for entry in entries(path)}) == 2


def test_going_back_is_a_change_too(tmp_path):
    path = tmp_path / "p.jsonl"
    for subtrahend in ("A1", "A0", "A1"):
        record(CELL, {"C1": ["A3", subtrahend]}, str(path))
    assert len(entries(path)) == 3
