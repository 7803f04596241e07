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
        code=code("stats", "compute_contrasts.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "preregistration": plain(config["preregistration"]),
            "exploratory": list(config["exploratory_contrasts"]),
            "unavailable": GRID.missing(wildcards.corpus),
            "metrics": list(config["metrics"]),
            "mixed_models": config["statistics"]["mixed_models"],
            **bootstrap_options(),
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
        code=code("stats", "compute_means.py"),
        cells=cells_of_corpus,
        options={
            "preregistration": plain(config["preregistration"]),
            "metrics": list(config["metrics"]),
        },
    script:
        "../workflow/scripts/compute_means.py"


rule fit_depth_slopes:
    input:
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/statistics/dose_response.parquet",
    log:
        "<results>/{corpus}/logs/fit_depth_slopes.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "fit_depth_slopes.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "ladders": ladders(),
            "unavailable": GRID.missing(wildcards.corpus),
            "metrics": list(config["metrics"]),
            **bootstrap_options(),
        },
    script:
        "../workflow/scripts/fit_depth_slopes.py"


rule contrast_query_types:
    input:
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/statistics/per_type.parquet",
    log:
        "<results>/{corpus}/logs/contrast_query_types.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "contrast_query_types.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "unavailable": GRID.missing(wildcards.corpus),
            "metrics": list(config["metrics"]),
            **bootstrap_options(),
        },
    script:
        "../workflow/scripts/contrast_query_types.py"


rule compare_budgets:
    input:
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/statistics/budget.parquet",
    log:
        "<results>/{corpus}/logs/compare_budgets.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "compare_budgets.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "metrics": list(config["metrics"]),
            **bootstrap_options(),
        },
    script:
        "../workflow/scripts/compare_budgets.py"


rule estimate_power:
    input:
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/statistics/power.parquet",
    log:
        "<results>/{corpus}/logs/estimate_power.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "estimate_power.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "unavailable": GRID.missing(wildcards.corpus),
            "metrics": list(config["metrics"]),
            **plain(config["exploration"]["power"]),
        },
    script:
        "../workflow/scripts/estimate_power.py"


rule redraw_placebo:
    input:
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/statistics/placebo_replicates.parquet",
    log:
        "<results>/{corpus}/logs/redraw_placebo.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "redraw_placebo.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "conditions": {name: GRID.definition("conditions", name) for name in GRID.conditions(wildcards.corpus)},
            "prefixes": plain(GRID.definitions["prefixes"]),
            "unavailable": GRID.missing(wildcards.corpus),
            "metrics": list(config["metrics"]),
            **bootstrap_options(),
        },
    script:
        "../workflow/scripts/redraw_placebo.py"


rule measure_noise:
    input:
        scores=scores_of_corpus,
        rankings=lambda wildcards: [
            f"<results>/{wildcards.corpus}/cells/{cell.folder}/ranking.parquet"
            for cell in GRID.cells(wildcards.corpus)
        ],
    output:
        table="<results>/{corpus}/statistics/noise.parquet",
    log:
        "<results>/{corpus}/logs/measure_noise.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "measure_noise.py"),
        cells=cells_of_corpus,
        options=lambda wildcards: {
            "pairs": plain(config["exploration"]["noise"]),
            "contrasts": {name: plain(GRID.definitions["contrasts"][name]) for name in GRID.contrasts()},
            "metrics": list(config["metrics"]),
            "depth": config["top_k"],
        },
    script:
        "../workflow/scripts/measure_noise.py"
