"""Cut usable documents into windows, size-matched to a structural chunk set (conditions A0, A1)."""

from docstructure.chunking.stage import build_window_chunks
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_window_chunks,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        matched=snakemake.input.matched,
        eligible=snakemake.input.usable,
        chunks=snakemake.output.chunks,
        **snakemake.params.options,
    )
