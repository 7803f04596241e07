"""Write the cell explorer of a corpus: the ranked chunks of two conditions side by side, with evidence and gains."""

from docstructure.joblog import run
from docstructure.report.explorer import build_explorer

if __name__ == "__main__":
    run(
        build_explorer,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        queries=snakemake.input.queries,
        page=snakemake.output.page,
        **snakemake.params.options,
    )
