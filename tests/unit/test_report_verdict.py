from pathlib import Path

import polars as pl
import pytest

from docstructure.report.page import build_report
from docstructure.report.verdict import judge, main
from tests.unit.report_run import audit_rows, report_arguments


def frame(rows, corpus="qasper"):
    return pl.DataFrame(rows).select(pl.lit(corpus).alias("corpus"), pl.all())


def test_all_holds_is_fit():
    verdict = judge(frame(audit_rows()))
    assert verdict.fit
    assert verdict.headline == "Fit: all 4 design invariants hold"


def test_nothing_measured_is_unfit():
    verdict = judge(frame(audit_rows()).clear())
    assert not verdict.fit
    assert verdict.headline.startswith("UNFIT")


@pytest.mark.parametrize(("failing", "code"), [((), 0), (("A3/bge-large-en-v1.5/none: queries missing",), 1)])
def test_exit_code_says_whether_the_run_is_fit(tmp_path, capsys, failing, code):
    arguments = report_arguments(tmp_path, extras=False, failing=failing)
    build_report(**arguments)
    assert main([str(Path(arguments["page"]).parent)]) == code
    said = capsys.readouterr().out
    assert f"Report: {arguments['page']}" in said
    assert said.startswith("Fit" if code == 0 else "UNFIT")
    assert all(name in said for name in failing)


def test_no_report_is_neither(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "run the workflow first" in capsys.readouterr().err
    assert main([]) == 2
