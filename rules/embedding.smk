"""Vectors of chunks (one file per view and embedder) and of queries."""


rule embed_chunks:
    input:
        documents="<results>/{corpus}/documents.parquet",
        chunks="<results>/{corpus}/chunks/{boundaries}.parquet",
        view="<results>/{corpus}/views/{boundaries}.{prefix}.parquet",
    output:
        vectors="<results>/{corpus}/vectors/{embedder}/{boundaries}.{prefix}.parquet",
    log:
        "<results>/{corpus}/logs/embed_chunks.{embedder}.{boundaries}.{prefix}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/embed_chunks.{embedder}.{boundaries}.{prefix}.tsv"
    conda:
        "../envs/embed.yaml"
    threads: config["threads"]["embed"]
    resources:
        torch_threads=config["threads"]["embed"],
    params:
        code=lambda wildcards: code(
            "embed",
            "embed_chunks.py",
            EMBEDDERS,
            GRID.definition("embedders", wildcards.embedder),
        ),
        options=lambda wildcards: {
            "definition": GRID.definition("embedders", wildcards.embedder),
            "store": f"{config['store']}/{wildcards.embedder}",
        },
    script:
        "../workflow/scripts/embed_chunks.py"


rule embed_queries:
    input:
        queries="<results>/{corpus}/queries.parquet",
        eligible="<results>/{corpus}/eligible.parquet",
    output:
        query_vectors="<results>/{corpus}/query_vectors/{embedder}.parquet",
    log:
        "<results>/{corpus}/logs/embed_queries.{embedder}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/embed_queries.{embedder}.tsv"
    conda:
        "../envs/embed.yaml"
    threads: config["threads"]["embed"]
    resources:
        torch_threads=config["threads"]["embed"],
    params:
        code=lambda wildcards: code(
            "embed",
            "embed_queries.py",
            EMBEDDERS,
            GRID.definition("embedders", wildcards.embedder),
        ),
        options=lambda wildcards: {
            "definition": GRID.definition("embedders", wildcards.embedder),
            "store": f"{config['store']}/{wildcards.embedder}",
        },
    script:
        "../workflow/scripts/embed_queries.py"
