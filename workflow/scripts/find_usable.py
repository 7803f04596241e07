"""Find the documents that are usable in every structure that eligibility names."""

from docstructure.eligibility import build_eligible
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_eligible,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        queries=snakemake.input.queries,
        structures=dict(zip(snakemake.params.structures, snakemake.input.structures, strict=True)),
        eligible=snakemake.output.usable,
        **snakemake.params.options,
    )
