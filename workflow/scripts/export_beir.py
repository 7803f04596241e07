"""Write a view as a BEIR folder."""

from docstructure.exports.beir import export_beir
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        export_beir,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        chunks=snakemake.input.chunks,
        view=snakemake.input.view,
        queries=snakemake.input.queries,
        folder=snakemake.output.folder,
    )
