"""Where documents are cut, and what is put before a chunk: chunk sets and views."""


rule chunk_sections:
    input:
        documents="<results>/{corpus}/documents.parquet",
        sections=lambda wildcards: f"<results>/{wildcards.corpus}/sections/{GRID.structure(wildcards.boundaries)}.parquet",
        usable="<results>/{corpus}/usable.parquet",
    output:
        chunks="<results>/{corpus}/candidates/{boundaries}.parquet",
    log:
        "<results>/{corpus}/logs/chunk_sections.{boundaries}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/chunk_sections.{boundaries}.tsv"
    wildcard_constraints:
        boundaries=one_of(of_kind("boundaries", "sections")),
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "chunk_sections.py"),
        options={
            "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
            "language": config["language"],
            "t_max": config["chunking"]["t_max"],
            "t_min": config["chunking"]["t_min"],
        },
    script:
        "../workflow/scripts/chunk_sections.py"


rule chunk_windows:
    input:
        documents="<results>/{corpus}/documents.parquet",
        matched=lambda wildcards: "<results>/{}/candidates/{}.parquet".format(
            wildcards.corpus,
            GRID.definitions["boundaries"][wildcards.boundaries]["windows"]["match"],
        ),
        usable="<results>/{corpus}/usable.parquet",
    output:
        chunks="<results>/{corpus}/candidates/{boundaries}.parquet",
    log:
        "<results>/{corpus}/logs/chunk_windows.{boundaries}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/chunk_windows.{boundaries}.tsv"
    wildcard_constraints:
        boundaries=one_of(of_kind("boundaries", "windows")),
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "chunk_windows.py"),
        options={
            "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
            "language": config["language"],
            "snap_tokens": config["chunking"]["fixed_snap_tokens"],
            "snap_fallback": config["chunking"]["fixed_snap_fallback"],
        },
    script:
        "../workflow/scripts/chunk_windows.py"


rule select_chunks:
    input:
        candidates="<results>/{corpus}/candidates/{boundaries}.parquet",
        eligible="<results>/{corpus}/eligible.parquet",
    output:
        chunks="<results>/{corpus}/chunks/{boundaries}.parquet",
    log:
        "<results>/{corpus}/logs/select_chunks.{boundaries}.log",
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "select_chunks.py"),
    script:
        "../workflow/scripts/select_chunks.py"


rule build_view:
    input:
        documents="<results>/{corpus}/documents.parquet",
        chunks="<results>/{corpus}/chunks/{boundaries}.parquet",
        contexts=contexts_of_view,
    output:
        view="<results>/{corpus}/views/{boundaries}.{prefix}.parquet",
    log:
        "<results>/{corpus}/logs/build_view.{boundaries}.{prefix}.log",
    conda:
        "../envs/corpus.yaml"
    params:
        code=lambda wildcards: code("corpus", "build_view.py", PREFIXES, GRID.definition("prefixes", wildcards.prefix)),
        options=lambda wildcards: {
            "definition": GRID.definition("prefixes", wildcards.prefix),
            "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
            "separator": config["prefix"]["separator"],
            "max_tokens": config["prefix"]["max_tokens"],
        },
    script:
        "../workflow/scripts/build_view.py"
