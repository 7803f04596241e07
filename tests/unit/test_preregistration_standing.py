"""Whether the registered block is what it was at the first score, and what changed when."""

import json

import pytest

from docstructure.contracts.registration import REGISTRATION
from docstructure.preregistration import RecordError, build_registration, read_record, record
from docstructure.report.registration import standing
from docstructure.report.trust import registration_status

CELL = {"cell": {"metric": "mrr", "embedder": "e", "reranker": "none"}, "contrasts": ["C1"]}
SIDES = {"C1": ["A3", "A1"]}
OTHER = {"C1": ["A3", "A0"]}


@pytest.fixture
def path(tmp_path):
    # where rule preregister writes it
    return tmp_path / "results" / "demo" / "preregistration.jsonl"


def score(path, name="A3"):
    file = path.parent / "cells" / name / "e" / "none" / "scores.parquet"
    file.parent.mkdir(parents=True)
    file.touch()


def stands(path, contrasts=SIDES, cell=CELL):
    table = path.parent / "registration.parquet"
    build_registration(record=str(path), preregistration=cell, contrasts=contrasts, table=str(table))
    frame = REGISTRATION.read(table)
    return standing(frame), *registration_status(frame)


def test_a_block_that_was_never_changed_is_unchanged(path):
    record(CELL, SIDES, str(path))
    score(path)
    record(CELL, SIDES, str(path))
    found, sound, said = stands(path)
    assert (found.sound, found.changes) == (sound, ()) == (True, ())
    registered = read_record(str(path))[0]["registered"]
    assert found.registered["registered"] == registered
    assert said.startswith(f"unchanged since {registered}")
    assert "recorded before the first score existed" in said


def test_a_change_before_the_first_score_is_none_after_it(path):
    record(CELL, SIDES, str(path))
    record(CELL, OTHER, str(path))
    score(path)
    found, sound, said = stands(path, OTHER)
    assert found.sound
    assert sound
    assert said.startswith("unchanged")


def test_a_change_after_the_first_score_is_shown_with_its_keys(path):
    record(CELL, SIDES, str(path))
    score(path)
    score(path, "A1")
    changed = CELL | {"cell": CELL["cell"] | {"metric": "ndcg@10"}, "contrasts": ["C1", "C2"]}
    record(changed, SIDES | {"C2": ["A3", "P"]}, str(path))
    found, sound, said = stands(path, SIDES | {"C2": ["A3", "P"]}, changed)
    assert not found.sound
    assert not sound
    assert found.changes[0]["scores_before"] == 2
    assert set(found.changes[0]["changes"]) == {
        'contrasts.C2: absent -> ["A3", "P"]',
        'preregistration.cell.metric: "mrr" -> "ndcg@10"',
        'preregistration.contrasts: ["C1"] -> ["C1", "C2"]',
    }
    assert said.startswith("CHANGED 1 time since")
    assert "(2 score files existed)" in said
    assert 'contrasts.C2: absent -> ["A3", "P"]' in said


def test_changing_back_does_not_undo_the_change(path):
    record(CELL, SIDES, str(path))
    score(path)
    record(CELL, OTHER, str(path))
    record(CELL, SIDES, str(path))
    found, sound, said = stands(path)
    assert (found.sound, sound, len(found.changes)) == (False, False, 2)
    assert said.startswith("CHANGED 2 times")


def test_a_record_that_was_begun_anew_after_scores_is_not_early(path):
    record(CELL, SIDES, str(path))
    score(path)
    path.unlink()
    record(CELL, OTHER, str(path))
    found, sound, said = stands(path, OTHER)
    assert (found.sound, sound, found.changes) == (False, False, ())
    assert "1 score file existed already when it was recorded" in said


def test_a_block_that_is_not_registered_yet_is_not_sound(path):
    record(CELL, SIDES, str(path))
    found, sound, said = stands(path, OTHER)
    assert (found, sound) == (None, False)
    assert "not in the record" in said


def test_an_entry_that_does_not_count_scores_is_not_trusted_to_be_early(path):
    record(CELL, SIDES, str(path))
    record(CELL, OTHER, str(path))
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({k: v for k, v in e.items() if k != "scores"}) + "\n" for e in entries))
    assert not stands(path, OTHER)[1]


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
