"""What explains a result: sizes, structures, routing, non-lexicality, cost; and the paper's numbers beside this run's."""


rule rank_by_bm25:
    input:
        documents="<results>/{corpus}/documents.parquet",
        queries="<results>/{corpus}/queries.parquet",
        chunks="<results>/{corpus}/chunks/{boundaries}.parquet",
    output:
        bm25="<results>/{corpus}/bm25/{boundaries}.parquet",
    log:
        "<results>/{corpus}/logs/rank_by_bm25.{boundaries}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/rank_by_bm25.{boundaries}.tsv"
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "rank_by_bm25.py", modules=metric_modules()),
    script:
        "../workflow/scripts/rank_by_bm25.py"


rule probe_bm25:
    input:
        files=lambda wildcards: of_chunk_sets(wildcards.corpus, "bm25"),
    output:
        table="<results>/{corpus}/diagnostics/bm25_probe.parquet",
    log:
        "<results>/{corpus}/logs/probe_bm25.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "probe_bm25.py"),
        options=lambda wildcards: {"boundaries": GRID.chunk_sets(wildcards.corpus)},
    script:
        "../workflow/scripts/probe_bm25.py"


rule describe_corpus:
    input:
        documents="<results>/{corpus}/documents.parquet",
        queries="<results>/{corpus}/queries.parquet",
        eligible="<results>/{corpus}/eligible.parquet",
        funnels=lambda wildcards: funnels_of(wildcards.corpus),
        structure_files=lambda wildcards: of_structures(wildcards.corpus, "structures"),
        section_files=lambda wildcards: of_structures(wildcards.corpus, "sections"),
    output:
        topics="<results>/{corpus}/diagnostics/topics.parquet",
        funnel_summary="<results>/{corpus}/diagnostics/funnel_summary.parquet",
        query_profile="<results>/{corpus}/diagnostics/query_profile.parquet",
        structure_summary="<results>/{corpus}/diagnostics/structure_summary.parquet",
    log:
        "<results>/{corpus}/logs/describe_corpus.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "describe_corpus.py"),
        options=lambda wildcards: {"structures": GRID.structures(wildcards.corpus)},
    script:
        "../workflow/scripts/describe_corpus.py"


rule describe_chunks:
    input:
        documents="<results>/{corpus}/documents.parquet",
        eligible="<results>/{corpus}/eligible.parquet",
        chunk_files=lambda wildcards: of_chunk_sets(wildcards.corpus, "chunks"),
        view_files=lambda wildcards: [
            f"<results>/{wildcards.corpus}/views/{view}.parquet" for view in GRID.views(wildcards.corpus)
        ],
    output:
        size_match="<results>/{corpus}/diagnostics/size_match.parquet",
        span_identity="<results>/{corpus}/diagnostics/span_identity.parquet",
        truncation="<results>/{corpus}/diagnostics/truncation.parquet",
        placebo_residuals="<results>/{corpus}/diagnostics/placebo_residuals.parquet",
    log:
        "<results>/{corpus}/logs/describe_chunks.log",
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "describe_chunks.py"),
        options=lambda wildcards: {
            "chunk_sets": {name: GRID.definition("boundaries", name) for name in GRID.chunk_sets(wildcards.corpus)},
            "views": {name: GRID.definition("prefixes", name.split(".")[1]) for name in GRID.views(wildcards.corpus)},
            "gold": GRID.gold(wildcards.corpus),
            "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
            "language": config["language"],
            "snap_tokens": config["chunking"]["fixed_snap_tokens"],
            "snap_fallback": config["chunking"]["fixed_snap_fallback"],
            **plain(config["prefix"]),
        },
    script:
        "../workflow/scripts/describe_chunks.py"


rule curve_section_recall:
    input:
        queries="<results>/{corpus}/queries.parquet",
        chunk_files=lambda wildcards: routed(wildcards.corpus, "chunks"),
        vector_files=lambda wildcards: routed(wildcards.corpus, "vectors"),
        query_vector_files=lambda wildcards: routed(wildcards.corpus, "query_vectors"),
    output:
        table="<results>/{corpus}/diagnostics/section_recall.parquet",
    log:
        "<results>/{corpus}/logs/curve_section_recall.log",
    benchmark:
        "<results>/{corpus}/benchmarks/curve_section_recall.tsv"
    conda:
        "../envs/retrieval.yaml"
    params:
        code=code("retrieval", "curve_section_recall.py", RETRIEVAL, {"two_stage": {}}),
        options=lambda wildcards: {
            "cells": [
                {
                    "condition": cell.condition,
                    "embedder": cell.embedder,
                    "definition": retrieval_of(cell.condition),
                }
                for cell in GRID.routed_cells(wildcards.corpus)
            ],
            "seed": config["statistics"]["seed"],
            **plain(config["exploration"]["section_recall"]),
        },
    script:
        "../workflow/scripts/curve_section_recall.py"


rule replicate:
    input:
        expected="resources/expected.yaml",
        tables=lambda wildcards: [f"<results>/{wildcards.corpus}/{REPORTED[name]}{name}.parquet" for name in REPLICATED],
    output:
        table="<results>/{corpus}/replication.parquet",
    log:
        "<results>/{corpus}/logs/replicate.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "replicate.py"),
        names=list(REPLICATED),
        options=lambda wildcards: {"corpus": wildcards.corpus, "cell": plain(config["preregistration"]["cell"])},
    script:
        "../workflow/scripts/replicate.py"


rule check_registration:
    input:
        record="<results>/{corpus}/preregistration.jsonl",
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/registration.parquet",
    log:
        "<results>/{corpus}/logs/check_registration.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "check_registration.py"),
        options=registered(),
    script:
        "../workflow/scripts/check_registration.py"


# The benchmark files of the jobs are not inputs: they are there once every cell has its scores.
rule count_costs:
    input:
        scores=scores_of_corpus,
    output:
        table="<results>/{corpus}/diagnostics/stage_costs.parquet",
    log:
        "<results>/{corpus}/logs/count_costs.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "count_costs.py"),
        benchmarks=lambda wildcards: f"{config['outdir']}/{wildcards.corpus}/benchmarks",
    script:
        "../workflow/scripts/count_costs.py"
