"""Write a cell as a TREC run with its qrels and subtopic qrels."""

from docstructure.exports.trec import export_trec
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        export_trec,
        log=snakemake.log[0],
        ranking=snakemake.input.ranking,
        queries=snakemake.input.queries,
        chunks=snakemake.input.chunks,
        run=snakemake.output.run,
        qrels=snakemake.output.qrels,
        subtopics=snakemake.output.subtopics,
    )
