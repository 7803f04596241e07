"""Say whether the pre-registration is what it was before the first score."""

from docstructure.joblog import run
from docstructure.preregistration import build_registration

if __name__ == "__main__":
    run(
        build_registration,
        log=snakemake.log[0],
        record=snakemake.input.record,
        table=snakemake.output.table,
        **snakemake.params.options,
    )
