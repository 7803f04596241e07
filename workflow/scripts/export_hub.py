"""Write the per-query scores of every cell as a folder that `datasets` loads."""

from docstructure.exports.hub import export_hub
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        export_hub,
        log=snakemake.log[0],
        scores=[
            {**cell, "path": path} for cell, path in zip(snakemake.params.cells, snakemake.input.scores, strict=True)
        ],
        folder=snakemake.output.folder,
    )
