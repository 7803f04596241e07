"""Rerank the top of a ranking by query and prefix + content."""

from docstructure.joblog import run
from docstructure.reranking.stage import build_reranking

if __name__ == "__main__":
    run(
        build_reranking,
        log=snakemake.log[0],
        queries=snakemake.input.queries,
        documents=snakemake.input.documents,
        chunks=snakemake.input.chunks,
        view=snakemake.input.view,
        ranking_in=snakemake.input.ranking,
        ranking=snakemake.output.ranking,
        threads=snakemake.resources.torch_threads,
        **snakemake.params.options,
    )
