"""Describe a corpus: topics, funnel, queries, structures."""

from docstructure.diagnostics.corpus import build_corpus_tables
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_corpus_tables,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        queries=snakemake.input.queries,
        eligible=snakemake.input.eligible,
        funnels=snakemake.input.funnels,
        structure_files=snakemake.input.structure_files,
        section_files=snakemake.input.section_files,
        topics=snakemake.output.topics,
        funnel_summary=snakemake.output.funnel_summary,
        query_profile=snakemake.output.query_profile,
        structure_summary=snakemake.output.structure_summary,
        **snakemake.params.options,
    )
