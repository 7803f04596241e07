"""docstructure: does document structure help dense retrieval, and which mechanism carries the benefit?"""

from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


pathvars:
    results=config["outdir"],


report: "workflow/report/workflow.rst"


include: "rules/common.smk"
include: "rules/corpora.smk"
include: "rules/generation.smk"
include: "rules/chunking.smk"
include: "rules/embedding.smk"
include: "rules/retrieval.smk"
include: "rules/evaluation.smk"
include: "rules/statistics.smk"
include: "rules/diagnostics.smk"
include: "rules/report.smk"
include: "rules/exports.smk"
include: "rules/prefetch.smk"


wildcard_constraints:
    corpus=one_of(GRID.config["corpora"]),
    structure=one_of(GRID.definitions["structures"]),
    boundaries=one_of(GRID.definitions["boundaries"]),
    prefix=one_of(GRID.definitions["prefixes"]),
    contextualizer=one_of(GRID.definitions["contextualizers"]),
    condition=one_of(GRID.definitions["conditions"]),
    embedder=one_of(GRID.definitions["embedders"]),
    reranker=one_of(GRID.definitions["rerankers"]),
    shard="[0-9]+",
    shards="[0-9]+",


# The whole grid: every cell's scores, the tests, the audit and the tables.
rule all:
    default_target: True
    input:
        rules.report_tables.output,
        rules.build_report.output,
        [path for corpus in config["corpora"] for path in artifacts(corpus)],


# A model that cannot be had is said before the first job, not after hours of them.
onstart:
    for name in [] if config["llm"]["offline"] else models_to_ask():
        try:
            check_access(name, GRID.definition("models", name))
        except AccessError as error:
            raise WorkflowError(str(error)) from None
