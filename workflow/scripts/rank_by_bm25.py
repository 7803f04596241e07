"""Find what a keyword search puts first for every query."""

from docstructure.joblog import run
from docstructure.nonlexicality import build_bm25

if __name__ == "__main__":
    run(
        build_bm25,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        queries=snakemake.input.queries,
        chunks=snakemake.input.chunks,
        bm25=snakemake.output.bm25,
    )
