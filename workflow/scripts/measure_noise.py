"""Measure the differences that numerics alone make."""

from docstructure.joblog import run
from docstructure.statistics.noise import build_noise

if __name__ == "__main__":
    run(
        build_noise,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        rankings=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.rankings, strict=True)
        ],
        table=snakemake.output.table,
        **snakemake.params.options,
    )
