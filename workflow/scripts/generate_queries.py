"""Filter, paraphrase and balance the queries that a language model wrote."""

from docstructure.joblog import run
from docstructure.querygen.stage import generate_queries

if __name__ == "__main__":
    run(
        generate_queries,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        sections=snakemake.input.sections,
        queries=snakemake.output.queries,
        funnel=snakemake.output.funnel,
        **snakemake.params.options,
    )
