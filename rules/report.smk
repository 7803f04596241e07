"""What a reader opens: tables over all corpora, one page, one explorer per corpus."""


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
        code=code("report", "report_tables.py"),
        options={
            "corpora": list(config["corpora"]),
            "conditions": list(config["conditions"]),
            "cell": plain(config["preregistration"]["cell"]),
            "bootstrap_iters": config["statistics"]["bootstrap_iters"],
            "confidence": config["statistics"]["confidence"],
        },
    script:
        "../workflow/scripts/report_tables.py"


rule build_explorer:
    input:
        documents="<results>/{corpus}/documents.parquet",
        queries="<results>/{corpus}/queries.parquet",
        sides=lambda wildcards: sorted(
            {path for one in comparisons(wildcards.corpus) for key, path in one.items() if "_" in key}
        ),
        templates=[f"{TEMPLATES}/{name}" for name in ("explorer.html.j2", "style.css", "explorer.css", "explorer.js")],
    output:
        page=report(
            "<results>/report/explorer/{corpus}.html",
            caption="../workflow/report/explorer.rst",
            category="Report",
            labels={"page": "explorer", "corpus": "{corpus}"},
        ),
    log:
        "<results>/{corpus}/logs/build_explorer.log",
    conda:
        "../envs/report.yaml"
    params:
        code=code("report", "build_explorer.py"),
        options=lambda wildcards: {
            "corpus": wildcards.corpus,
            "comparisons": comparisons(wildcards.corpus),
            "metric": config["preregistration"]["cell"]["metric"],
            "n_queries": 40,
            "n_ranks": 10,
            "max_characters": 3000,
            "templates": TEMPLATES,
            "report": f"{config['outdir']}/report/index.html",
        },
    script:
        "../workflow/scripts/build_explorer.py"


rule build_report:
    input:
        artifacts=[path for corpus in config["corpora"] for path in reported(corpus).values()],
        provenances=[cell["provenance"] for cell in reported_cells()],
        explorers=list(explorers().values()),
        templates=[f"{TEMPLATES}/page.html.j2", f"{TEMPLATES}/style.css"],
    output:
        page=report(
            "<results>/report/index.html",
            caption="../workflow/report/index.rst",
            category="Report",
            labels={"page": "answers"},
        ),
        tables=directory("<results>/report/tables"),
    log:
        "<results>/logs/build_report.log",
    conda:
        "../envs/report.yaml"
    params:
        code=code("report", "build_report.py"),
        options={
            "corpora": {corpus: reported(corpus) for corpus in config["corpora"]},
            "cells": reported_cells(),
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "conditions": list(config["conditions"]),
            "cell": plain(config["preregistration"]["cell"]),
            "confidence": config["statistics"]["confidence"],
            "bootstrap_iters": config["statistics"]["bootstrap_iters"],
            "command": command(),
            "explorers": explorers(),
            "templates": TEMPLATES,
        },
    script:
        "../workflow/scripts/build_report.py"
