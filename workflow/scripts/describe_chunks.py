"""Describe chunk sets and views: sizes, span identity, truncation, placebo residuals."""

from docstructure.diagnostics.chunk_sets import build_chunk_tables
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_chunk_tables,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        eligible=snakemake.input.eligible,
        chunk_files=snakemake.input.chunk_files,
        view_files=snakemake.input.view_files,
        size_match=snakemake.output.size_match,
        span_identity=snakemake.output.span_identity,
        truncation=snakemake.output.truncation,
        placebo_residuals=snakemake.output.placebo_residuals,
        **snakemake.params.options,
    )
