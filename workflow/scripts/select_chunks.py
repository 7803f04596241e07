"""Select the chunks of the eligible documents."""

from docstructure.contextualizers.withholding import select_chunks
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        select_chunks,
        log=snakemake.log[0],
        candidates=snakemake.input.candidates,
        eligible=snakemake.input.eligible,
        chunks=snakemake.output.chunks,
    )
