"""Measure the invariants of the design on the artifacts of a corpus."""

from docstructure.audit import build_audit
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_audit,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        queries=snakemake.input.queries,
        eligible=snakemake.input.eligible,
        section_files=snakemake.input.sections,
        chunk_files=snakemake.input.chunks,
        view_files=snakemake.input.views,
        ranking_files=snakemake.input.rankings,
        audit=snakemake.output.audit,
        **snakemake.params.options,
    )
