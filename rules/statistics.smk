"""Tests of the contrasts and means of every cell."""


rule compute_contrasts:
    input:
        scores=scores_of_corpus,
    output:
        contrasts="<results>/{corpus}/statistics/contrasts.parquet",
    log:
        "<results>/{corpus}/logs/compute_contrasts.log",
    benchmark:
        "<results>/{corpus}/benchmarks/compute_contrasts.tsv"
    conda:
        "../envs/stats.yaml"
    params:
        code=code("compute_contrasts.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "preregistration": plain(config["preregistration"]),
            "exploratory": list(config["exploratory_contrasts"]),
            "unavailable": GRID.missing(wildcards.corpus),
            "metrics": list(config["metrics"]),
            **plain(config["statistics"]),
        },
    script:
        "../workflow/scripts/compute_contrasts.py"


rule compute_means:
    input:
        scores=scores_of_corpus,
    output:
        means="<results>/{corpus}/statistics/means.parquet",
    log:
        "<results>/{corpus}/logs/compute_means.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("compute_means.py"),
        cells=cells_of_corpus,
        options={
            "preregistration": plain(config["preregistration"]),
            "metrics": list(config["metrics"]),
        },
    script:
        "../workflow/scripts/compute_means.py"
