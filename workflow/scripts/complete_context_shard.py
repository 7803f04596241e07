"""Ask a language model for the contexts of one shard of the documents."""

from docstructure.contextualizers.stage import complete_context_shard
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        complete_context_shard,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        chunks=snakemake.input.chunks,
        shard=int(snakemake.wildcards.shard),
        shards=int(snakemake.wildcards.shards),
        completed=snakemake.output.completed,
        # no parameter: whether an engine may start changes no answer, so that switching it reruns nothing
        offline=snakemake.config["llm"]["offline"],
        **snakemake.params.options,
    )
