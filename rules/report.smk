"""Tables over all corpora, like the paper's Tables 1 and 2."""


rule report_tables:
    input:
        contrasts=expand("<results>/{corpus}/statistics/contrasts.parquet", corpus=config["corpora"]),
        means=expand("<results>/{corpus}/statistics/means.parquet", corpus=config["corpora"]),
        audits=expand("<results>/{corpus}/audit.parquet", corpus=config["corpora"]),
    output:
        contrasts_csv="<results>/report/contrasts.csv",
        contrasts_md=report(
            "<results>/report/contrasts.md",
            caption="../workflow/report/contrasts.rst",
            category="Tables",
        ),
        means_csv="<results>/report/means.csv",
        means_md=report(
            "<results>/report/means.md",
            caption="../workflow/report/means.rst",
            category="Tables",
        ),
        audit_csv="<results>/report/audit.csv",
        audit_md=report(
            "<results>/report/audit.md",
            caption="../workflow/report/audit.rst",
            category="Tables",
        ),
    log:
        "<results>/logs/report_tables.log",
    conda:
        "../envs/report.yaml"
    params:
        code=code("report_tables.py"),
        options={
            "corpora": list(config["corpora"]),
            "conditions": list(config["conditions"]),
            "cell": plain(config["preregistration"]["cell"]),
            "bootstrap_iters": config["statistics"]["bootstrap_iters"],
        },
    script:
        "../workflow/scripts/report_tables.py"
