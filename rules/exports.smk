"""What other tools read: TREC runs and qrels, BEIR folders, a hub folder of per-query scores. `snakemake … -- export`."""


rule export_trec:
    input:
        queries="<results>/{corpus}/queries.parquet",
        chunks=lambda wildcards: of_condition(wildcards, "chunks"),
        ranking="<results>/{corpus}/cells/{condition}/{embedder}/{reranker}/ranking.parquet",
    output:
        run="<results>/{corpus}/exports/trec/{condition}/{embedder}/{reranker}/run.txt",
        qrels="<results>/{corpus}/exports/trec/{condition}/{embedder}/{reranker}/qrels.txt",
        subtopics="<results>/{corpus}/exports/trec/{condition}/{embedder}/{reranker}/subtopics.txt",
    log:
        "<results>/{corpus}/logs/export_trec.{condition}.{embedder}.{reranker}.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "export_trec.py"),
    script:
        "../workflow/scripts/export_trec.py"


rule export_beir:
    input:
        documents="<results>/{corpus}/documents.parquet",
        queries="<results>/{corpus}/queries.parquet",
        chunks="<results>/{corpus}/chunks/{boundaries}.parquet",
        view="<results>/{corpus}/views/{boundaries}.{prefix}.parquet",
    output:
        folder=directory("<results>/{corpus}/exports/beir/{boundaries}.{prefix}"),
    log:
        "<results>/{corpus}/logs/export_beir.{boundaries}.{prefix}.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "export_beir.py"),
    script:
        "../workflow/scripts/export_beir.py"


rule export_hub:
    input:
        scores=[
            f"<results>/{cell.corpus}/cells/{cell.folder}/scores.parquet"
            for corpus in config["corpora"]
            for cell in GRID.cells(corpus)
        ],
    output:
        folder=directory("<results>/report/hub"),
    log:
        "<results>/logs/export_hub.log",
    conda:
        "../envs/stats.yaml"
    params:
        code=code("stats", "export_hub.py"),
        cells=[
            {
                "corpus": cell.corpus,
                "condition": cell.condition,
                "embedder": cell.embedder,
                "reranker": cell.reranker,
            }
            for corpus in config["corpora"]
            for cell in GRID.cells(corpus)
        ],
    script:
        "../workflow/scripts/export_hub.py"


rule export:
    input:
        rules.export_hub.output,
        [
            f"<results>/{corpus}/exports/trec/{cell.folder}/run.txt"
            for corpus in config["corpora"]
            for cell in GRID.cells(corpus)
        ],
        [f"<results>/{corpus}/exports/beir/{view}" for corpus in config["corpora"] for view in GRID.views(corpus)],
    localrule: True
