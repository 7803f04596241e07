"""Write the report over all corpora: one page, and every table beside it."""

from docstructure.joblog import run
from docstructure.report.page import build_report

if __name__ == "__main__":
    run(
        build_report,
        log=snakemake.log[0],
        page=snakemake.output.page,
        tables=snakemake.output.tables,
        **snakemake.params.options,
    )
