"""Write the situating context of each chunk (condition A1)."""

from docstructure.contextualizers.stage import build_contexts
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_contexts,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        chunks=snakemake.input.chunks,
        contexts=snakemake.output.contexts,
        **snakemake.params.options,
    )
