"""Embed the queries of the eligible documents."""

from docstructure.embedding import embed_queries
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        embed_queries,
        log=snakemake.log[0],
        queries=snakemake.input.queries,
        eligible=snakemake.input.eligible,
        query_vectors=snakemake.output.query_vectors,
        threads=snakemake.resources.torch_threads,
        **snakemake.params.options,
    )
