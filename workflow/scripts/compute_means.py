"""Average every metric in every cell."""

from docstructure.joblog import run
from docstructure.statistics.means import build_means

if __name__ == "__main__":
    run(
        build_means,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.means,
        **snakemake.params.options,
    )
