"""Fit the slope of each metric per level of heading path."""

from docstructure.joblog import run
from docstructure.statistics.dose_response import build_dose_response

if __name__ == "__main__":
    run(
        build_dose_response,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.table,
        **snakemake.params.options,
    )
