"""Embed prefix + content of every chunk of a view."""

from docstructure.embedding import embed_chunks
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        embed_chunks,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        chunks=snakemake.input.chunks,
        view=snakemake.input.view,
        vectors=snakemake.output.vectors,
        threads=snakemake.resources.torch_threads,
        **snakemake.params.options,
    )
