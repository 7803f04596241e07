"""Decide which documents are in every index of a corpus: usable ones whose chunks all have their contexts."""

from docstructure.contextualizers.withholding import withhold
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        withhold,
        log=snakemake.log[0],
        usable=snakemake.input.usable,
        chunks=dict(zip(snakemake.params.contexts, snakemake.input.chunks, strict=True)),
        contexts=dict(zip(snakemake.params.contexts, snakemake.input.contexts, strict=True)),
        eligible=snakemake.output.eligible,
    )
