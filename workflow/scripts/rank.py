"""Rank chunks for every query: flat or two-stage, over the same vectors."""

from docstructure.joblog import run
from docstructure.retrieval.stage import build_ranking

if __name__ == "__main__":
    run(
        build_ranking,
        log=snakemake.log[0],
        queries=snakemake.input.queries,
        chunks=snakemake.input.chunks,
        vectors=snakemake.input.vectors,
        query_vectors=snakemake.input.query_vectors,
        ranking=snakemake.output.ranking,
        routing=snakemake.output.routing,
        threads=snakemake.resources.search_threads,
        **snakemake.params.options,
    )
