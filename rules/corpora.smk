"""From a source to documents, the author's headings, queries, structures and the eligible documents."""


rule build_corpus:
    input:
        lambda wildcards: source_files(wildcards.corpus),
    output:
        documents="<results>/{corpus}/documents.parquet",
        headings="<results>/{corpus}/source/headings.parquet",
        queries="<results>/{corpus}/source/queries.parquet",
        funnel=directory("<results>/{corpus}/funnel"),
    log:
        "<results>/{corpus}/logs/build_corpus.log",
    benchmark:
        "<results>/{corpus}/benchmarks/build_corpus.tsv"
    conda:
        "../envs/corpus.yaml"
    params:
        code=lambda wildcards: code(
            "corpus",
            "build_corpus.py",
            BUILDERS,
            GRID.definition("corpora", wildcards.corpus)["builder"],
        ),
        options=lambda wildcards: {
            "corpus": wildcards.corpus,
            "definition": GRID.definition("corpora", wildcards.corpus)["builder"],
        },
    script:
        "../workflow/scripts/build_corpus.py"


rule select_queries:
    input:
        documents="<results>/{corpus}/documents.parquet",
        headings="<results>/{corpus}/source/headings.parquet",
        queries="<results>/{corpus}/source/queries.parquet",
        file=lambda wildcards: queries_of(wildcards.corpus).get("file", {}).get("path", []),
    output:
        queries="<results>/{corpus}/queries.parquet",
    log:
        "<results>/{corpus}/logs/select_queries.log",
    wildcard_constraints:
        corpus=one_of(name for name in config["corpora"] if "generated" not in queries_of(name)),
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "select_queries.py"),
        options=lambda wildcards: {"definition": queries_of(wildcards.corpus)},
    script:
        "../workflow/scripts/select_queries.py"


# A structure by a language model is built from its cache, which its shards have filled: see generation.smk.
rule build_structure:
    input:
        documents="<results>/{corpus}/documents.parquet",
        headings="<results>/{corpus}/source/headings.parquet",
        shards=lambda wildcards: shards_of(
            f"<results>/{wildcards.corpus}/shards/structures/{wildcards.structure}",
            GRID.definition("structures", wildcards.structure),
        ),
        prompts=lambda wildcards: prompts_of(GRID.definition("structures", wildcards.structure)),
    output:
        structures="<results>/{corpus}/structures/{structure}.parquet",
        sections="<results>/{corpus}/sections/{structure}.parquet",
    log:
        "<results>/{corpus}/logs/build_structure.{structure}.log",
    benchmark:
        "<results>/{corpus}/benchmarks/build_structure.{structure}.tsv"
    conda:
        "../envs/corpus.yaml"
    params:
        code=lambda wildcards: code(
            "corpus",
            "build_structure.py",
            STRUCTURES,
            GRID.definition("structures", wildcards.structure),
        ),
        options=lambda wildcards: {
            "corpus": wildcards.corpus,
            "structure": wildcards.structure,
            "definition": GRID.definition("structures", wildcards.structure),
            "max_unusable_share": config["max_unusable_share"],
            "language": config["language"],
            **cached_answers(GRID.definition("structures", wildcards.structure)),
        },
    script:
        "../workflow/scripts/build_structure.py"


# Usable documents are cut into candidate chunks; those whose chunks all have their contexts are eligible.
rule find_usable:
    input:
        documents="<results>/{corpus}/documents.parquet",
        queries="<results>/{corpus}/queries.parquet",
        structures=structures_for_eligibility,
    output:
        usable="<results>/{corpus}/usable.parquet",
    log:
        "<results>/{corpus}/logs/find_usable.log",
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "find_usable.py"),
        structures=lambda wildcards: eligibility_of(wildcards.corpus)["structures"],
        options=lambda wildcards: {
            "require_queries": eligibility_of(wildcards.corpus)["require_queries"],
        },
    script:
        "../workflow/scripts/find_usable.py"


rule build_eligible:
    input:
        usable="<results>/{corpus}/usable.parquet",
        chunks=lambda wildcards: [
            f"<results>/{wildcards.corpus}/candidates/{name.split('.')[0]}.parquet"
            for name in eligibility_of(wildcards.corpus)["contexts"]
        ],
        contexts=lambda wildcards: [
            f"<results>/{wildcards.corpus}/contexts/{name}.parquet"
            for name in eligibility_of(wildcards.corpus)["contexts"]
        ],
    output:
        eligible="<results>/{corpus}/eligible.parquet",
    log:
        "<results>/{corpus}/logs/build_eligible.log",
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "build_eligible.py"),
        contexts=lambda wildcards: eligibility_of(wildcards.corpus)["contexts"],
    script:
        "../workflow/scripts/build_eligible.py"
