"""Fetch all models and data that a config needs, where there is a network."""

from docstructure.joblog import run
from docstructure.prefetch import prefetch

if __name__ == "__main__":
    run(
        prefetch,
        log=snakemake.log[0],
        **snakemake.params.options,
    )
