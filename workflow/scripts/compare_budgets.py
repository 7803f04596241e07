"""Average coverage under token budgets."""

from docstructure.joblog import run
from docstructure.statistics.budget import build_budget

if __name__ == "__main__":
    run(
        build_budget,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        table=snakemake.output.table,
        **snakemake.params.options,
    )
