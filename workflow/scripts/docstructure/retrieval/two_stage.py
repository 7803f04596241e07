"""Two-stage retrieval: rank sections by their centroids, then the chunks of the best (paper 3.2; A4 and G4)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from docstructure.retrieval.index import Index, Queries, check_scope, chunk_ranking, rank_pairs, search_scope
from docstructure.retrieval.sections import section_index
from docstructure.routing_sections import SECTIONS


@dataclass(frozen=True)
class Options:
    """Options of two-stage retrieval.

    Parameters
    ----------
    sections
        Sections that stage 1 keeps.
    section
        What a section is: ``top_level``, document + top-level heading (paper 3.2), or ``section``, document + path.
    scope
        ``corpus`` routes among all sections, ``document`` among those of the query's own document.
    """

    sections: int = 5
    section: str = "top_level"
    scope: str = "corpus"

    def __post_init__(self) -> None:
        check_scope(self.scope)
        if self.sections < 1:
            raise ValueError(f"sections: {self.sections} is below 1")
        if self.section not in SECTIONS:
            raise ValueError(f"section: {self.section!r} is none of {', '.join(SECTIONS)}")


def rank(
    options: Options, index: Index, queries: Queries, top_k: int, threads: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the ranking of each query and the sections that stage 1 kept for it.

    The chunks of the kept sections come first, by score; the flat ranking of the same scope fills up to `top_k`. Equal
    sections stand by document and section number, equal chunks by chunk_id.
    """
    sections, owner = section_index(index, options.section)
    kept = search_scope(sections, queries, options.scope, options.sections, threads)
    members = pl.DataFrame({"section": owner}).with_row_index("item").cast({"item": pl.Int64})
    pairs = kept.select("query", section="item").join(members, on="section").sort("query", "item")
    routed = rank_pairs(index, queries, pairs["query"].to_numpy(), pairs["item"].to_numpy(), top_k)
    flat = search_scope(index, queries, options.scope, top_k, threads)
    rest = flat.join(routed, on=["query", "item"], how="anti")
    hits = (
        pl.concat([routed.with_columns(routed=pl.lit(value=True)), rest.with_columns(routed=pl.lit(value=False))])
        .sort("query", pl.col("routed").not_(), "rank")
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query"))
        .filter(pl.col("rank") <= top_k)
    )
    routing = kept.select(
        query_id=queries.items["query_id"][kept["query"]],
        rank="rank",
        doc_id=sections.items["doc_id"][kept["item"]],
        section=sections.items["section"][kept["item"]],
        score="score",
    )
    return chunk_ranking(index, queries, hits), routing
