"""Write the tables over all corpora, like the paper's Tables 1 and 2."""

from docstructure.joblog import run
from docstructure.report.tables import build_tables

if __name__ == "__main__":
    run(
        build_tables,
        log=snakemake.log[0],
        contrast_files=snakemake.input.contrasts,
        mean_files=snakemake.input.means,
        audit_files=snakemake.input.audits,
        contrasts_csv=snakemake.output.contrasts_csv,
        contrasts_md=snakemake.output.contrasts_md,
        means_csv=snakemake.output.means_csv,
        means_md=snakemake.output.means_md,
        audit_csv=snakemake.output.audit_csv,
        audit_md=snakemake.output.audit_md,
        **snakemake.params.options,
    )
