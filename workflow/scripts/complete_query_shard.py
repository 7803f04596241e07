"""Ask a language model for the queries on one shard of the documents."""

from docstructure.joblog import run
from docstructure.querygen.stage import complete_query_shard

if __name__ == "__main__":
    run(
        complete_query_shard,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        sections=snakemake.input.sections,
        shard=int(snakemake.wildcards.shard),
        shards=int(snakemake.wildcards.shards),
        completed=snakemake.output.completed,
        # no parameter: whether an engine may start changes no answer, so that switching it reruns nothing
        offline=snakemake.config["llm"]["offline"],
        **snakemake.params.options,
    )
