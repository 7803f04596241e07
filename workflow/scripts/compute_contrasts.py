"""Test every contrast in every cell and metric; correct the pre-registered family."""

from docstructure.joblog import run
from docstructure.statistics.contrasts import build_contrasts

if __name__ == "__main__":
    run(
        build_contrasts,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.contrasts,
        **snakemake.params.options,
    )
