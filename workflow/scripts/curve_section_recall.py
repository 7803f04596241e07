"""Measure section recall by the size of the inventory."""

from docstructure.diagnostics.routing import build_section_recall
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_section_recall,
        log=snakemake.log[0],
        queries=snakemake.input.queries,
        chunk_files=snakemake.input.chunk_files,
        vector_files=snakemake.input.vector_files,
        query_vector_files=snakemake.input.query_vector_files,
        table=snakemake.output.table,
        **snakemake.params.options,
    )
