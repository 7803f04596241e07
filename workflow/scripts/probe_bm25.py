"""Count how often a keyword search puts evidence first."""

from docstructure.diagnostics.lexical import build_bm25_probe
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_bm25_probe,
        log=snakemake.log[0],
        files=snakemake.input.files,
        table=snakemake.output.table,
        **snakemake.params.options,
    )
