"""Count the time and memory of every job."""

from docstructure.diagnostics.costs import build_stage_costs
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_stage_costs,
        log=snakemake.log[0],
        benchmarks=[snakemake.params.benchmarks],
        table=snakemake.output.table,
    )
