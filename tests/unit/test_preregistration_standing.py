"""Whether the registered block is what it was at the first score, and what changed when."""

import json

import pytest

from docstructure.contracts.registration import REGISTRATION
from docstructure.preregistration import RecordError, build_registration, read_record, record, standing

CELL = {"cell": {"metric": "mrr", "embedder": "e", "reranker": "none"}, "contrasts": ["C1"]}
SIDES = {"C1": ["A3", "A1"]}
OTHER = {"C1": ["A3", "A0"]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "preregistration.jsonl"


def score(path, name="A3"):
    file = path.parent / "demo" / "cells" / name / "e" / "none" / "scores.parquet"
    file.parent.mkdir(parents=True)
    file.touch()


def stands(path, contrasts=SIDES, cell=CELL):
    return standing(read_record(str(path)), cell, contrasts)


def test_a_block_that_was_never_changed_is_unchanged(path):
    record(CELL, SIDES, str(path))
    score(path)
    record(CELL, SIDES, str(path))
    found = stands(path)
    assert (found.unchanged, found.changed_back, found.changes) == (True, False, ())
    assert found.registered == read_record(str(path))[0]["registered"]


def test_a_change_before_the_first_score_is_none_after_it(path):
    record(CELL, SIDES, str(path))
    record(CELL, OTHER, str(path))
    score(path)
    assert stands(path, OTHER).unchanged


def test_a_change_after_the_first_score_is_shown_with_its_keys(path):
    record(CELL, SIDES, str(path))
    score(path)
    score(path, "A1")
    changed = CELL | {"cell": CELL["cell"] | {"metric": "ndcg@10"}, "contrasts": ["C1", "C2"]}
    record(changed, SIDES | {"C2": ["A3", "P"]}, str(path))
    found = stands(path, SIDES | {"C2": ["A3", "P"]}, changed)
    assert not found.unchanged
    assert found.changes[0].scores == 2
    assert set(found.changes[0].changes) == {
        'contrasts.C2: absent -> ["A3", "P"]',
        'preregistration.cell.metric: "mrr" -> "ndcg@10"',
        'preregistration.contrasts: ["C1"] -> ["C1", "C2"]',
    }


def test_changing_back_does_not_undo_the_change(path):
    record(CELL, SIDES, str(path))
    score(path)
    record(CELL, OTHER, str(path))
    record(CELL, SIDES, str(path))
    found = stands(path)
    assert (found.unchanged, found.changed_back, len(found.changes)) == (False, True, 2)


def test_a_block_that_is_not_registered_yet_is_a_change(path):
    record(CELL, SIDES, str(path))
    found = stands(path, OTHER)
    assert (found.unchanged, found.changes[0].registered) == (False, "not registered yet")


def test_an_entry_that_does_not_count_scores_is_not_trusted_to_be_early(path):
    record(CELL, SIDES, str(path))
    record(CELL, OTHER, str(path))
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({k: v for k, v in e.items() if k != "scores"}) + "\n" for e in entries))
    assert not stands(path, OTHER).unchanged


def test_an_edited_record_is_refused(path):
    record(CELL, SIDES, str(path))
    path.write_text(path.read_text().replace('"A1"', '"A0"'))
    with pytest.raises(RecordError, match="line 1: the digest is not that of its block"):
        read_record(str(path))
    path.write_text("nonsense\n")
    with pytest.raises(RecordError, match="line 1 is no entry"):
        read_record(str(path))
    with pytest.raises(RecordError, match="no such file"):
        read_record(str(path) + ".none")


def test_the_record_as_a_table(path):
    record(CELL, SIDES, str(path))
    score(path)
    record(CELL, OTHER, str(path))
    table = path.parent / "registration.parquet"
    build_registration(record=str(path), preregistration=CELL, contrasts=OTHER, table=str(table))
    frame = REGISTRATION.read(table)
    assert frame["scores_before"].to_list() == [0, 1]
    assert frame["changes"].to_list() == [[], ['contrasts.C1: ["A3", "A1"] -> ["A3", "A0"]']]
    assert frame["current"].to_list() == [False, True]
