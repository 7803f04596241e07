"""Score a cell: every metric of every query, with a record of what made it."""

from docstructure.cell import score_cell
from docstructure.joblog import run

if __name__ == "__main__":
    run(
        score_cell,
        log=snakemake.log[0],
        queries=snakemake.input.queries,
        chunks=snakemake.input.chunks,
        view=snakemake.input.view,
        ranking=snakemake.input.ranking,
        routing=snakemake.input.routing,
        expected=snakemake.input.query_vectors,
        scores=snakemake.output.scores,
        provenance=snakemake.output.provenance,
        made_of=snakemake.params.cell,
        **snakemake.params.options,
    )
