"""Rankings: exact search over a view's vectors, flat or two-stage, and their reranking."""


rule rank:
    input:
        queries="<results>/{corpus}/queries.parquet",
        chunks=lambda wildcards: of_condition(wildcards, "chunks"),
        vectors=lambda wildcards: of_condition(wildcards, "vectors"),
        query_vectors="<results>/{corpus}/query_vectors/{embedder}.parquet",
    output:
        ranking="<results>/{corpus}/cells/{condition}/{embedder}/none/ranking.parquet",
        routing="<results>/{corpus}/cells/{condition}/{embedder}/none/routing.parquet",
    log:
        "<results>/{corpus}/logs/rank.{condition}.{embedder}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/rank.{condition}.{embedder}.tsv"
    conda:
        "../envs/retrieval.yaml"
    threads: config["threads"]["rank"]
    resources:
        search_threads=config["threads"]["rank"],
    params:
        code=lambda wildcards: code("retrieval", "rank.py", RETRIEVAL, retrieval_of(wildcards.condition)),
        options=lambda wildcards: {
            "definition": retrieval_of(wildcards.condition),
            "top_k": config["top_k"],
        },
    script:
        "../workflow/scripts/rank.py"


rule rerank:
    input:
        queries="<results>/{corpus}/queries.parquet",
        documents="<results>/{corpus}/documents.parquet",
        chunks=lambda wildcards: of_condition(wildcards, "chunks"),
        view=lambda wildcards: of_condition(wildcards, "view"),
        ranking="<results>/{corpus}/cells/{condition}/{embedder}/none/ranking.parquet",
    output:
        ranking="<results>/{corpus}/cells/{condition}/{embedder}/{reranker}/ranking.parquet",
    log:
        "<results>/{corpus}/logs/rerank.{condition}.{embedder}.{reranker}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/rerank.{condition}.{embedder}.{reranker}.tsv"
    wildcard_constraints:
        reranker=one_of(name for name in GRID.definitions["rerankers"] if name not in of_kind("rerankers", "none")),
    conda:
        "../envs/rerank.yaml"
    threads: config["threads"]["rerank"]
    resources:
        torch_threads=config["threads"]["rerank"],
    params:
        code=lambda wildcards: code("rerank", "rerank.py", RERANKERS, GRID.definition("rerankers", wildcards.reranker)),
        options=lambda wildcards: {
            "definition": {
                kind: options
                for kind, options in GRID.definition("rerankers", wildcards.reranker).items()
                if kind != "embedders"
            },
        },
    script:
        "../workflow/scripts/rerank.py"
