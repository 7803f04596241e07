"""Section recall by size of the section inventory (paper 6.4): why two-stage retrieval loses, on one corpus alone.

Stage 1 keeps a section with evidence when fewer than `sections` others stand before the best of them. How many do is
counted per document, once. The inventory of a smaller corpus is then that of the query's own document and a random part
of the others, and its section recall is a sum over those documents: nothing is searched again. With all documents it is
the section recall of the cell as it was run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docstructure.contracts.queries import QUERIES
from docstructure.contracts.section_recall import SECTION_RECALL
from docstructure.retrieval import RETRIEVAL
from docstructure.retrieval.index import Index, Queries
from docstructure.retrieval.sections import section_index
from docstructure.retrieval.stage import read_index, read_queries
from docstructure.routing_sections import number_sections

QUERIES_AT_ONCE = 256
OWN_DOCUMENT = 0.0
WHOLE_CORPUS = 1.0

Counts = NDArray[np.int64]


def build_section_recall(
    *,
    queries: str,
    cells: Sequence[Mapping[str, Any]],
    chunk_files: Sequence[str],
    vector_files: Sequence[str],
    query_vector_files: Sequence[str],
    document_shares: Sequence[float],
    draws: int,
    seed: int,
    table: str,
) -> None:
    """Write ``diagnostics/section_recall.parquet``: every two-stage cell under every share of the documents.

    Parameters
    ----------
    queries
        Artifact of the corpus (path).
    cells
        ``{condition, embedder, definition}`` of each cell without reranker, with its retrieval; flat ones are skipped.
    chunk_files, vector_files, query_vector_files
        Inputs of each cell, in the same order.
    document_shares
        Shares of the other documents that stay in the inventory: 0 is the query's own document alone, 1 the corpus.
        A cell whose scope is the query's document has the row of 0 only.
    draws
        Random draws of the documents per share between 0 and 1.
    seed
        Seed of the draws.
    table
        Path that is written.

    Raises
    ------
    ValueError
        If a share is out of [0, 1], draws is below 1, or no section of a query's document holds its evidence.
    """
    if draws < 1 or any(not OWN_DOCUMENT <= share <= WHOLE_CORPUS for share in document_shares):
        raise ValueError(
            f"document_shares {list(document_shares)} with {draws} draws: shares are in [0, 1], draws >= 1"
        )
    spans = QUERIES.read(queries, columns=["query_id", "doc_id", "spans"])
    rows: list[dict[str, Any]] = []
    for cell, *paths in zip(cells, chunk_files, vector_files, query_vector_files, strict=True):
        if "two_stage" not in cell["definition"]:
            continue
        options, _ = RETRIEVAL.resolve(cell["definition"])
        index = read_index(paths[0], paths[1])
        asked = read_queries(queries, paths[2], index)
        sections, gold = evidence_sections(index, asked, spans, options.section)
        before, sizes, own = count_before(sections, asked, gold)
        shares = document_shares if options.scope == "corpus" else [OWN_DOCUMENT]
        for share in sorted(set(shares)):
            drawn = list(_draw(len(sizes), share, draws, seed))
            measured = [recall_of(before, sizes, own, kept, options.sections) for kept in drawn]
            rows.append(
                {
                    "condition": cell["condition"],
                    "embedder": cell["embedder"],
                    "routed_sections": options.sections,
                    "document_share": share,
                    "n_documents": 1 + round(share * (len(sizes) - 1)),
                    "n_sections": float(np.mean([n_sections for _, n_sections in measured])),
                    "n_queries": len(own),
                    "n_draws": len(drawn),
                    "section_recall": float(np.mean([recall for recall, _ in measured])),
                }
            )
    SECTION_RECALL.write(SECTION_RECALL.frame(rows), table)


def evidence_sections(index: Index, asked: Queries, spans: pl.DataFrame, section: str) -> tuple[Index, pl.DataFrame]:
    """Return the section index, and each pair of a query (row) and a section (row) that holds some of its evidence."""
    sections, _ = section_index(index, section)
    pieces = index.items.select("doc_id", "start", "end", section=number_sections(index.items, section, index.source))
    rows = sections.items.with_row_index("row").cast({"row": pl.Int64})
    evidence = (
        asked.items.select("query_id")
        .with_row_index("query")
        .cast({"query": pl.Int64})
        .join(spans, on="query_id", how="left", maintain_order="left")
        .explode("spans")
        .with_columns(first=pl.col("spans").struct.field("start"), last=pl.col("spans").struct.field("end"))
    )
    gold = (
        evidence.join(pieces, on="doc_id")
        .filter((pl.col("start") < pl.col("last")) & (pl.col("first") < pl.col("end")))
        .join(rows, on=["doc_id", "section"])
        .select("query", "row")
        .unique()
        .sort("query", "row")
    )
    lost = evidence.join(gold, on="query", how="anti")
    if lost.height:
        raise ValueError(f"{index.source}: no section holds evidence of query {lost['query_id'][0]}")
    return sections, gold


def count_before(sections: Index, asked: Queries, gold: pl.DataFrame) -> tuple[Counts, Counts, Counts]:
    """Count, per query and document, the sections that stage 1 ranks before the best section with evidence.

    Parameters
    ----------
    sections
        Centroids, in the order that breaks ties: by document, then section.
    asked
        Queries and their vectors.
    gold
        ``query`` and ``row``: the sections with evidence, sorted by query.

    Returns
    -------
    tuple
        Counts, shape ``(n_queries, n_documents)``; sections of each document; document of each query.
    """
    ids = sections.items["doc_id"]
    starts = np.flatnonzero((ids != ids.shift(1)).fill_null(value=True).to_numpy())
    documents = ids.gather(starts)
    codes = dict(zip(documents, range(len(documents)), strict=True))
    own = np.array([codes[doc_id] for doc_id in asked.items["doc_id"]], dtype=np.int64)
    query, row = gold["query"].to_numpy(), gold["row"].to_numpy()
    centroids = sections.vectors.astype(np.float64).T
    before = np.empty((len(own), len(documents)), dtype=np.int64)
    place = np.arange(sections.items.height)
    for first in range(0, len(own), QUERIES_AT_ONCE):
        block = asked.vectors[first : first + QUERIES_AT_ONCE].astype(np.float64)
        # Rounded to what a ranking publishes, so that equal sections are equal here too.
        scores = (block @ centroids).astype(np.float32)
        for line, scored in enumerate(scores):
            mine = row[np.searchsorted(query, first + line) : np.searchsorted(query, first + line + 1)]
            best = mine[np.argmax(scored[mine])]
            ahead = (scored > scored[best]) | ((scored == scored[best]) & (place < best))
            before[first + line] = np.add.reduceat(ahead.astype(np.int64), starts)
    return before, np.diff(np.append(starts, len(ids))), own


def recall_of(
    before: Counts, sizes: Counts, own: Counts, kept: NDArray[np.bool_], sections: int
) -> tuple[float, float]:
    """Return section recall, and the mean number of sections, of an inventory of some documents and each query's own.

    Parameters
    ----------
    before, sizes, own
        As `count_before` returns them.
    kept
        Which documents are in the inventory; a query's own document always is.
    sections
        Sections that stage 1 keeps.
    """
    mask = kept.astype(np.int64)
    queries = np.arange(len(own))
    ahead = before @ mask + before[queries, own] * (1 - mask[own])
    total = int(sizes @ mask) + sizes[own] * (1 - mask[own])
    return float((ahead < sections).mean()), float(total.mean())


def _draw(n_documents: int, share: float, draws: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which documents are kept, once where nothing is left to chance; draws are nested over shares."""
    if share in (OWN_DOCUMENT, WHOLE_CORPUS):
        yield np.full(n_documents, share == WHOLE_CORPUS)
        return
    n_kept = round(share * n_documents)
    for draw in range(draws):
        order = np.random.default_rng([seed, draw]).permutation(n_documents)
        kept = np.zeros(n_documents, dtype=np.bool_)
        kept[order[:n_kept]] = True
        yield kept
