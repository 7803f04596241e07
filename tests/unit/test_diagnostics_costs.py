"""Snakemake's benchmark files as a table."""

import pytest

from docstructure.contracts.stage_costs import STAGE_COSTS
from docstructure.diagnostics.costs import BenchmarkError, build_stage_costs

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def write(folder, name, *rows):
    (folder / name).write_text(HEADER + "".join(f"{row}\n" for row in rows))


def test_one_row_per_job_with_its_wildcards(tmp_path):
    write(tmp_path, "rank.A3.bge-small-en-v1.5.tsv", "2.0\t0:00:02\t100.5\t1\t1\t1\t0\t0\t50.0\t1.5")
    write(tmp_path, "build_corpus.tsv", "0.1\t0:00:00\t-\t-\t-\t-\t-\t-\tNA\t0.05")
    write(tmp_path, "rank.A0.e.tsv", "1.0\t0:00:01\t10\t1\t1\t1\t0\t0\t10\t1", "3.0\t0:00:03\t20\t1\t1\t1\t0\t0\t30\t2")
    build_stage_costs(benchmarks=[str(tmp_path)], table=str(tmp_path / "table"))
    assert STAGE_COSTS.read(tmp_path / "table").rows() == [
        ("build_corpus", "", 0.1, 0.05, None, None),
        ("rank", "A0.e", 2.0, 1.5, 15.0, 20.0),
        ("rank", "A3.bge-small-en-v1.5", 2.0, 1.5, 100.5, 50.0),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [("a\tb\n1\t2\n", "no column s"), (HEADER, "no row"), (HEADER + "x\t0\t1\t1\t1\t1\t0\t0\t1\t1\n", "column s")],
)
def test_what_is_no_benchmark_is_refused(tmp_path, text, says):
    (tmp_path / "rank.tsv").write_text(text)
    with pytest.raises(BenchmarkError, match=rf"rank\.tsv: {says}"):
        build_stage_costs(benchmarks=[str(tmp_path / "rank.tsv")], table=str(tmp_path / "table"))
