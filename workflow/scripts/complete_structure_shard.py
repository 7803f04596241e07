"""Ask a language model for the structure of one shard of the documents."""

from docstructure.joblog import run
from docstructure.structures.shard import complete_structure_shard

if __name__ == "__main__":
    run(
        complete_structure_shard,
        log=snakemake.log[0],
        documents=snakemake.input.documents,
        shard=int(snakemake.wildcards.shard),
        shards=int(snakemake.wildcards.shards),
        completed=snakemake.output.completed,
        # no parameter: whether an engine may start changes no answer, so that switching it reruns nothing
        offline=snakemake.config["llm"]["offline"],
        **snakemake.params.options,
    )
