"""Test every contrast per query type."""

from docstructure.joblog import run
from docstructure.statistics.per_type import build_per_type

if __name__ == "__main__":
    run(
        build_per_type,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.table,
        **snakemake.params.options,
    )
