"""Select the queries of a corpus."""

from docstructure.corpora.selection import select_queries
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        select_queries,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        headings=snakemake.input.headings,
        queries=snakemake.input.queries,
        **snakemake.params.options,
        output=snakemake.output.queries,
    )
