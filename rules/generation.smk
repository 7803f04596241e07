"""What a language model writes: structures, situating contexts (condition A1), queries.

Each stage is split into shards by document. A shard asks the model and fills its cache, on a GPU; what is then built
from the cache, without a model, does not depend on how many shards there were.
"""


rule complete_structure_shard:
    input:
        documents="<results>/{corpus}/documents.parquet",
        prompts=prompts(),
    output:
        completed="<results>/{corpus}/shards/structures/{structure}.{shard}-of-{shards}.parquet",
    log:
        "<results>/{corpus}/logs/complete_structure_shard.{structure}.{shard}-of-{shards}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/complete_structure_shard.{structure}.{shard}-of-{shards}.tsv"
    conda:
        "../envs/llm.yaml"
    params:
        code=lambda wildcards: shard_code(
            "llm", "complete_structure_shard.py", STRUCTURES, GRID.definition("structures", wildcards.structure)
        ),
        options=lambda wildcards: {
            "corpus": wildcards.corpus,
            "structure": wildcards.structure,
            "definition": GRID.definition("structures", wildcards.structure),
            "language": config["language"],
            **answers(GRID.definition("structures", wildcards.structure)),
        },
    script:
        "../workflow/scripts/complete_structure_shard.py"


rule complete_context_shard:
    input:
        documents="<results>/{corpus}/documents.parquet",
        chunks="<results>/{corpus}/candidates/{boundaries}.parquet",
        prompts=prompts(),
    output:
        completed="<results>/{corpus}/shards/contexts/{boundaries}.{contextualizer}.{shard}-of-{shards}.parquet",
    log:
        "<results>/{corpus}/logs/complete_context_shard.{boundaries}.{contextualizer}.{shard}-of-{shards}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/complete_context_shard.{boundaries}.{contextualizer}.{shard}-of-{shards}.tsv"
    conda:
        "../envs/llm.yaml"
    params:
        code=lambda wildcards: shard_code(
            "llm",
            "complete_context_shard.py",
            CONTEXTUALIZERS,
            GRID.definition("contextualizers", wildcards.contextualizer),
        ),
        options=lambda wildcards: {
            "definition": GRID.definition("contextualizers", wildcards.contextualizer),
            "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
            "language": config["language"],
            **answers(GRID.definition("contextualizers", wildcards.contextualizer)),
        },
    script:
        "../workflow/scripts/complete_context_shard.py"


rule contextualize:
    input:
        documents="<results>/{corpus}/documents.parquet",
        chunks="<results>/{corpus}/candidates/{boundaries}.parquet",
        shards=lambda wildcards: shards_of(
            f"<results>/{wildcards.corpus}/shards/contexts/{wildcards.boundaries}.{wildcards.contextualizer}",
            GRID.definition("contextualizers", wildcards.contextualizer),
        ),
        prompts=lambda wildcards: prompts_of(GRID.definition("contextualizers", wildcards.contextualizer)),
    output:
        contexts="<results>/{corpus}/contexts/{boundaries}.{contextualizer}.parquet",
    log:
        "<results>/{corpus}/logs/contextualize.{boundaries}.{contextualizer}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/contextualize.{boundaries}.{contextualizer}.tsv"
    conda:
        "../envs/corpus.yaml"
    params:
        code=lambda wildcards: code(
            "corpus",
            "contextualize.py",
            CONTEXTUALIZERS,
            GRID.definition("contextualizers", wildcards.contextualizer),
        ),
        options=lambda wildcards: {
            "definition": GRID.definition("contextualizers", wildcards.contextualizer),
            "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
            "language": config["language"],
            "max_unusable_share": config["max_unusable_share"],
            **cached_answers(GRID.definition("contextualizers", wildcards.contextualizer)),
        },
    script:
        "../workflow/scripts/contextualize.py"


rule complete_query_shard:
    input:
        documents="<results>/{corpus}/documents.parquet",
        sections=lambda wildcards: sections_for_queries(wildcards.corpus),
        prompts=prompts(),
    output:
        completed="<results>/{corpus}/shards/queries/generated.{shard}-of-{shards}.parquet",
    log:
        "<results>/{corpus}/logs/complete_query_shard.{shard}-of-{shards}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/complete_query_shard.{shard}-of-{shards}.tsv"
    conda:
        "../envs/llm.yaml"
    params:
        code=lambda wildcards: shard_code("llm", "complete_query_shard.py", QUERIES, queries_of(wildcards.corpus)),
        options=lambda wildcards: {
            "definition": queries_of(wildcards.corpus),
            "language": config["language"],
            **answers(queries_of(wildcards.corpus)),
        },
    script:
        "../workflow/scripts/complete_query_shard.py"


rule generate_queries:
    input:
        documents="<results>/{corpus}/documents.parquet",
        sections=lambda wildcards: sections_for_queries(wildcards.corpus),
        shards=lambda wildcards: shards_of(
            f"<results>/{wildcards.corpus}/shards/queries/generated", queries_of(wildcards.corpus)
        ),
        prompts=lambda wildcards: prompts_of(queries_of(wildcards.corpus)),
    output:
        queries="<results>/{corpus}/queries.parquet",
        funnel=directory("<results>/{corpus}/query_funnel"),
    log:
        "<results>/{corpus}/logs/generate_queries.log",
    benchmark:
        "<results>/{corpus}/benchmarks/generate_queries.tsv"
    wildcard_constraints:
        corpus=one_of(name for name in config["corpora"] if "generated" in queries_of(name)),
    conda:
        "../envs/corpus.yaml"
    params:
        code=lambda wildcards: code("corpus", "generate_queries.py", QUERIES, queries_of(wildcards.corpus)),
        options=lambda wildcards: {
            "corpus": wildcards.corpus,
            "definition": queries_of(wildcards.corpus),
            "language": config["language"],
            "max_unusable_share": config["max_unusable_share"],
            **cached_answers(queries_of(wildcards.corpus)),
        },
    script:
        "../workflow/scripts/generate_queries.py"
