"""Compare this run with the paper's numbers."""

from docstructure.joblog import run
from docstructure.replication.stage import build_replication

if __name__ == "__main__":
    run(
        build_replication,
        log=snakemake.log[0],
        expected=snakemake.input.expected,
        tables=dict(zip(snakemake.params.names, snakemake.input.tables, strict=True)),
        table=snakemake.output.table,
        **snakemake.params.options,
    )
