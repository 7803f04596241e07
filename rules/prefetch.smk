"""What is fetched before the jobs run, where there is a network: snakemake --profile profiles/slurm -- prefetch."""


# Without output: it checks the bytes of what is there whenever it is asked for.
rule prefetch:
    log:
        "<results>/logs/prefetch.log",
    localrule: True
    conda:
        "../envs/corpus.yaml"
    params:
        code=code("corpus", "prefetch.py"),
        options={
            "definitions": {
                "tokenizer": GRID.definition("tokenizers", config["tokenizer"]),
                "embedders": {name: GRID.definition("embedders", name) for name in config["embedders"]},
                "rerankers": {name: GRID.definition("rerankers", name) for name in config["rerankers"]},
                "models": {name: GRID.definition("models", name) for name in language_models()},
            },
            "corpora": {corpus: GRID.definition("corpora", corpus)["builder"] for corpus in config["corpora"]},
        },
    script:
        "../workflow/scripts/prefetch.py"
