"""A job's output goes to its log; an error goes to the terminal in one line and to the log with its traceback."""

import logging
import sys

import pytest

from docstructure.joblog import run


def test_output_is_copied_to_the_log(tmp_path, capsys):
    run(lambda **_: print("counted 3"), log=str(tmp_path / "deep" / "a.log"))
    text = (tmp_path / "deep" / "a.log").read_text()
    assert text.startswith("counted 3\n")
    assert "done in" in text
    assert "counted 3" in capsys.readouterr().err


def test_stderr_is_copied_too(tmp_path):
    run(lambda **_: print("warned", file=sys.stderr), log=str(tmp_path / "a.log"))
    assert "warned" in (tmp_path / "a.log").read_text()


def test_log_records_are_copied_too(tmp_path):
    run(lambda **_: logging.getLogger("x").info("%d truncated", 3), log=str(tmp_path / "a.log"))
    assert (tmp_path / "a.log").read_text().startswith("3 truncated\n")


def test_an_error_ends_the_job_with_its_message(tmp_path, capsys):
    def stage(*, path):
        raise ValueError(f"{path}: row 3 is bad")

    with pytest.raises(SystemExit) as ended:
        run(stage, log=str(tmp_path / "a.log"), path="x.parquet")
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "ValueError: x.parquet: row 3 is bad" in said
    assert "Traceback" not in said
    assert "Traceback" in (tmp_path / "a.log").read_text()
