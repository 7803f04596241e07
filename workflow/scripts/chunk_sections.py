"""Cut usable documents at the sections of a structure (conditions A2-A4, P, G2-G4)."""

from docstructure.chunking.stage import build_section_chunks
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        build_section_chunks,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        sections=snakemake.input.sections,
        eligible=snakemake.input.usable,
        chunks=snakemake.output.chunks,
        **snakemake.params.options,
    )
