"""Estimate what effects this corpus can detect."""

from docstructure.joblog import run
from docstructure.statistics.power import build_power

if __name__ == "__main__":
    run(
        build_power,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.table,
        **snakemake.params.options,
    )
