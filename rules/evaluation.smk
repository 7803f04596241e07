"""Scores of each cell, with their provenance, and the audit of the design's invariants."""


rule preregister:
    output:
        update("<results>/{corpus}/preregistration.jsonl"),
    log:
        "<results>/{corpus}/logs/preregister.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "preregister.py"),
        options=registered(),
    script:
        "../workflow/scripts/preregister.py"


rule score:
    input:
        ancient("<results>/{corpus}/preregistration.jsonl"),
        queries="<results>/{corpus}/queries.parquet",
        chunks=lambda wildcards: of_condition(wildcards, "chunks"),
        view=lambda wildcards: of_condition(wildcards, "view"),
        ranking="<results>/{corpus}/cells/{condition}/{embedder}/{reranker}/ranking.parquet",
        routing="<results>/{corpus}/cells/{condition}/{embedder}/none/routing.parquet",
        query_vectors="<results>/{corpus}/query_vectors/{embedder}.parquet",
    output:
        scores="<results>/{corpus}/cells/{condition}/{embedder}/{reranker}/scores.parquet",
        provenance="<results>/{corpus}/cells/{condition}/{embedder}/{reranker}/provenance.json",
    log:
        "<results>/{corpus}/logs/score.{condition}.{embedder}.{reranker}.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "score.py", modules=metric_modules()),
        options=lambda wildcards: {
            "metrics": list(config["metrics"]),
            "section": GRID.routed_section(wildcards.condition),
        },
        cell=lambda wildcards: GRID.provenance(
            Cell(
                wildcards.corpus,
                wildcards.condition,
                wildcards.embedder,
                wildcards.reranker,
            )
        ),
    script:
        "../workflow/scripts/score.py"


rule audit:
    input:
        documents="<results>/{corpus}/documents.parquet",
        queries="<results>/{corpus}/queries.parquet",
        eligible="<results>/{corpus}/eligible.parquet",
        sections=lambda wildcards: expand(
            "<results>/{corpus}/sections/{structure}.parquet",
            corpus=wildcards.corpus,
            structure=GRID.structures(wildcards.corpus),
        ),
        chunks=lambda wildcards: expand(
            "<results>/{corpus}/chunks/{boundaries}.parquet",
            corpus=wildcards.corpus,
            boundaries=GRID.chunk_sets(wildcards.corpus),
        ),
        views=lambda wildcards: expand(
            "<results>/{corpus}/views/{view}.parquet",
            corpus=wildcards.corpus,
            view=GRID.views(wildcards.corpus),
        ),
        rankings=lambda wildcards: expand(
            "<results>/{corpus}/cells/{cell}/ranking.parquet",
            corpus=wildcards.corpus,
            cell=[cell.folder for cell in GRID.cells(wildcards.corpus)],
        ),
    output:
        audit="<results>/{corpus}/audit.parquet",
    log:
        "<results>/{corpus}/logs/audit.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "audit.py"),
        options=lambda wildcards: {
            "structures": GRID.structures(wildcards.corpus),
            "chunk_sets": {name: GRID.definition("boundaries", name) for name in GRID.chunk_sets(wildcards.corpus)},
            "views": {name: GRID.definition("prefixes", name.split(".")[1]) for name in GRID.views(wildcards.corpus)},
            "cells": [
                {
                    "condition": cell.condition,
                    "embedder": cell.embedder,
                    "reranker": cell.reranker,
                    "view": GRID.view(cell.condition),
                }
                for cell in GRID.cells(wildcards.corpus)
            ],
            "separator": config["prefix"]["separator"],
        },
    script:
        "../workflow/scripts/audit.py"
