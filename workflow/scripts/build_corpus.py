"""Build a corpus from its source: documents, the author's headings, queries, funnel."""

from docstructure.corpora.stage import build_corpus
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_corpus,
        log=snakemake.log[0],
        documents=snakemake.output.documents,
        headings=snakemake.output.headings,
        queries=snakemake.output.queries,
        funnel=snakemake.output.funnel,
        **snakemake.params.options,
    )
