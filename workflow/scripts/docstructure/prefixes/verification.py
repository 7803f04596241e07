"""What the audit recomputes of path and placebo views from the artifacts alone (paper 3.2, E.3)."""

from __future__ import annotations

from collections import Counter

import polars as pl

from docstructure.placebo import PlaceboError, minimum
from docstructure.prefixes.breadcrumb import Separator, cut_paths

RESIDUALS = pl.Schema(
    dict.fromkeys(
        (
            "depth",
            "n_pairs",
            "largest_document",
            "largest_string",
            "minimum",
            "residual",
            "n_chunks",
            "residual_chunks",
            "split_pairs",
        ),
        pl.Int64(),
    )
)


def residuals(
    view: pl.DataFrame, chunks: pl.DataFrame, documents: pl.DataFrame, depth: int, separator: str
) -> pl.DataFrame:
    """Recompute from the artifacts how well a placebo view is deranged; for the audit.

    Parameters
    ----------
    view
        A placebo view, by the views contract.
    chunks
        Its chunks, by the chunks contract.
    documents
        ``doc_id`` and ``title``.
    depth, separator
        As the view was made with.

    Returns
    -------
    pl.DataFrame
        One row per bucket: ``depth``, ``n_pairs``, ``largest_document`` and ``largest_string`` (pairs), ``minimum``,
        ``residual`` (pairs), ``n_chunks``, ``residual_chunks``, and ``split_pairs`` (pairs whose chunks did not all
        receive the same path; 0 when nothing is wrong).
    """
    mark = Separator(separator)
    frame = _joined(view, chunks, documents, depth, mark).with_columns(
        residual=(pl.col("donor_doc_id") == pl.col("doc_id"))
        | pl.when("prefix_truncated")
        .then(pl.col("own").str.starts_with(pl.col("prefix").str.strip_suffix("] ")))
        .otherwise(pl.col("own") == pl.col("prefix"))
    )
    pairs = frame.group_by("depth", "doc_id", "own").agg(
        pl.len().alias("n_chunks"),
        pl.col("residual").sum().alias("residual_chunks"),
        (
            (pl.col("donor_doc_id").n_unique() > 1)
            | (pl.col("prefix").filter(~pl.col("prefix_truncated")).n_unique() > 1)
        ).alias("split"),
    )
    rows = [
        {
            "depth": bucket["depth"][0],
            "n_pairs": bucket.height,
            "largest_document": max(Counter(bucket["doc_id"]).values()),
            "largest_string": max(Counter(bucket["own"]).values()),
            "minimum": minimum(bucket["doc_id"].to_list(), bucket["own"].to_list()),
            "residual": int((bucket["residual_chunks"] > 0).sum()),
            "n_chunks": int(bucket["n_chunks"].sum()),
            "residual_chunks": int(bucket["residual_chunks"].sum()),
            "split_pairs": int(bucket["split"].sum()),
        }
        for bucket in pairs.partition_by("depth")
    ]
    return pl.DataFrame(rows, schema=RESIDUALS).sort("depth")


def undealt(view: pl.DataFrame, chunks: pl.DataFrame, documents: pl.DataFrame, depth: int, separator: str) -> int:
    """Return how many paths a placebo view gives to no pair: 0 where it is a permutation of them; for the audit.

    A placebo deals every path once, so that both sides of C2 bear the same strings. A pair whose prefix is always
    truncated may have any of the paths that nobody else has.
    """
    frame = _joined(view, chunks, documents, depth, Separator(separator))
    pairs = frame.group_by("depth", "doc_id", "own").agg(
        pl.col("donor_doc_id").filter(~pl.col("prefix_truncated")).first().alias("donor"),
        pl.col("prefix").filter(~pl.col("prefix_truncated")).first().alias("given"),
    )
    dealt = pairs.filter(pl.col("given").is_not_null())
    lacking = pairs.join(dealt, left_on=["doc_id", "own"], right_on=["donor", "given"], how="anti").height
    return max(0, lacking - (pairs.height - dealt.height))


def depths(
    view: pl.DataFrame, chunks: pl.DataFrame, documents: pl.DataFrame, depth: int, separator: str
) -> pl.DataFrame:
    """Return how many chunks of a path or placebo view have a prefix of each depth; for the audit.

    A prefix has the depth of the cut path that it renders, looked up among the paths of the document that it is said
    to come from. A truncated one, which may be no whole path, has the depth that is left of it.

    Raises
    ------
    PlaceboError
        If a prefix is no path of the document that it is said to come from.

    Returns
    -------
    pl.DataFrame
        ``depth`` (0 where nothing is left) and ``n_chunks``.
    """
    mark = Separator(separator)
    frame = _joined(view, chunks, documents, depth, mark)
    real = frame.select(pl.col("doc_id").alias("source"), pl.col("own").alias("prefix"), "depth").unique()
    found = frame.select(
        "chunk_id", "prefix", "prefix_truncated", pl.coalesce("donor_doc_id", "doc_id").alias("source")
    ).join(real, on=["source", "prefix"], how="left", maintain_order="left")
    strange = found.filter(pl.col("depth").is_null() & ~pl.col("prefix_truncated"))
    if strange.height:
        row = strange.row(0, named=True)
        raise PlaceboError(f"chunk {row['chunk_id']}: prefix {row['prefix']!r} is no heading path of {row['source']}")
    left = (
        pl.when(pl.col("prefix") == "")
        .then(0)
        .otherwise(pl.col("prefix").str.count_matches(separator, literal=True) + 1)
    )
    return (
        found.select(pl.coalesce("depth", left.cast(pl.Int64)).alias("depth"))
        .group_by("depth")
        .agg(pl.len().cast(pl.Int64).alias("n_chunks"))
        .sort("depth")
    )


def _joined(
    view: pl.DataFrame, chunks: pl.DataFrame, documents: pl.DataFrame, depth: int, separator: Separator
) -> pl.DataFrame:
    """Put each chunk's own rendered path and its depth beside its row of the view."""
    paths = cut_paths(documents, chunks, depth, separator)
    own = chunks.select("chunk_id", "doc_id").with_columns(
        pl.Series("own", [separator.join(path) for path in paths], dtype=pl.String),
        pl.Series("depth", [len(path) for path in paths], dtype=pl.Int64),
    )
    joined = view.join(own, on="chunk_id", how="full", coalesce=True, maintain_order="left_right")
    lost = joined.filter(pl.col("prefix").is_null() | pl.col("own").is_null())
    if lost.height:
        raise PlaceboError(f"chunk {lost['chunk_id'][0]} is in only one of the view and its chunks")
    return joined
