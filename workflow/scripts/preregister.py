"""Record the pre-registration before the first score; append where it changed."""

from docstructure.joblog import run
from docstructure.preregistration import record

if __name__ == "__main__":
    run(
        record,
        log=snakemake.log[0],
        output=snakemake.output[0],
        **snakemake.params.options,
    )
