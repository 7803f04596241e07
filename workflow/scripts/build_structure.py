"""Give every document its sections by one structure: the author's, or an inducer's."""

from docstructure.joblog import run
from docstructure.structures.stage import build_structure

if __name__ == "__main__":
    run(
        build_structure,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        headings=snakemake.input.headings,
        structures=snakemake.output.structures,
        sections=snakemake.output.sections,
        **snakemake.params.options,
    )
