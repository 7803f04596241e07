"""Compare the placebo contrast over draws of the placebo."""

from docstructure.joblog import run
from docstructure.statistics.placebo_replicates import build_placebo_replicates

if __name__ == "__main__":
    run(
        build_placebo_replicates,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.table,
        **snakemake.params.options,
    )
