"""Render the prefix of each chunk: none, heading path, placebo or context."""

from docstructure.joblog import run
from docstructure.prefixes.stage import build_view

if __name__ == "__main__":
    run(
        build_view,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        chunks=snakemake.input.chunks,
        contexts=snakemake.input.get("contexts") or None,
        view=snakemake.output.view,
        **snakemake.params.options,
    )
