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
        **snakemake.params.options,
    )
