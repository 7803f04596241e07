"""audit.parquet: the invariants of the design, measured on the artifacts of one corpus (paper 3.2, E.2, E.3).

Every check reads artifacts and recomputes what must hold; none trusts the stage that made them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from docstructure.contracts.audit import AUDIT
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.views import VIEWS
from docstructure.placebo import PlaceboError
from docstructure.prefixes import verification
from docstructure.spans import check_tiling
from docstructure.tree import Section, verify

LOG = logging.getLogger(__name__)

SIZE_MATCH_TOKENS = 5.0
"""Largest difference of mean chunk sizes (the paper says 4; its own figures differ by 4.2 and 4.9)."""

Definition = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """One invariant as measured: it holds when `value` is at most `limit`."""

    invariant: str
    value: float
    limit: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the invariant holds."""
        return self.value <= self.limit


def build_audit(
    *,
    documents: str,
    queries: str,
    eligible: str,
    structures: Sequence[str],
    section_files: Sequence[str],
    chunk_sets: Mapping[str, Definition],
    chunk_files: Sequence[str],
    views: Mapping[str, Definition],
    view_files: Sequence[str],
    cells: Sequence[Mapping[str, str]],
    ranking_files: Sequence[str],
    separator: str,
    audit: str,
) -> None:
    """Measure every invariant and write them; a failed invariant is a row, not an error.

    Parameters
    ----------
    documents, queries, eligible
        Artifacts of the corpus (paths).
    structures, section_files
        Structures in use and their sections, in the same order.
    chunk_sets, chunk_files
        Boundaries in use with their definitions, and their chunks.
    views, view_files
        Views in use with the definitions of their prefixes, and their files.
    cells, ranking_files
        Cells (condition, embedder, reranker, view) and their rankings.
    separator
        Between the elements of a heading path.
    audit
        File to write.
    """
    texts = DOCUMENTS.read(documents)
    wanted = set(ELIGIBLE.read(eligible).filter("eligible")["doc_id"])
    chunks = {name: CHUNKS.read(file) for name, file in zip(chunk_sets, chunk_files, strict=True)}
    prefixes = {name: VIEWS.read(file) for name, file in zip(views, view_files, strict=True)}
    asked = set(QUERIES.read(queries).filter(pl.col("doc_id").is_in(list(wanted)))["query_id"])
    findings = [
        *(
            finding
            for structure, file in zip(structures, section_files, strict=True)
            for finding in check_sections(structure, SECTIONS.read(file), texts)
        ),
        *check_chunks(chunks, texts, wanted),
        *check_sizes(chunks, chunk_sets),
        *check_prefixes(prefixes, views, chunks, texts.select("doc_id", "title"), separator),
        *check_rankings(cells, ranking_files, asked),
    ]
    for finding in findings:
        if not finding.holds:
            LOG.warning("DOES NOT HOLD: %s: %g, limit %g", finding.invariant, finding.value, finding.limit)
    rows = [
        {"invariant": found.invariant, "value": float(found.value), "limit": found.limit, "holds": found.holds}
        for found in findings
    ]
    AUDIT.write(AUDIT.frame(rows), audit)


def check_sections(structure: str, sections: pl.DataFrame, documents: pl.DataFrame) -> Iterator[Finding]:
    """Count the documents whose sections do not tile them or disagree with the paragraph table (paper E.2)."""
    tables = {
        row["doc_id"]: ([(span["start"], span["end"]) for span in row["paragraphs"]], len(row["text"]))
        for row in documents.iter_rows(named=True)
    }
    bad = 0
    for (doc_id,), rows in sections.group_by("doc_id", maintain_order=True):
        found = [
            Section(
                path=tuple(row["path"]),
                level=row["level"],
                par_start=row["par_start"],
                par_end=row["par_end"],
                start=row["start"],
                end=row["end"],
            )
            for row in rows.iter_rows(named=True)
        ]
        table = tables.get(str(doc_id))
        bad += table is None or bool(verify(found, *table))
    yield Finding(f"structure {structure}: documents with a tiling or offset violation", bad)


def check_chunks(chunks: Mapping[str, pl.DataFrame], documents: pl.DataFrame, wanted: set[str]) -> Iterator[Finding]:
    """Count documents that a chunk set does not tile, and eligible documents that it lacks or adds."""
    lengths: dict[str, int] = dict(documents.select("doc_id", pl.col("text").str.len_chars()).iter_rows())
    for name, frame in chunks.items():
        spans: dict[str, list[tuple[int, int]]] = {}
        for doc_id, start, end in frame.select("doc_id", "start", "end").iter_rows():
            spans.setdefault(doc_id, []).append((start, end))
        broken = sum(
            doc_id not in lengths or bool(check_tiling(found, lengths[doc_id])) for doc_id, found in spans.items()
        )
        yield Finding(f"chunks {name}: documents that they do not tile", broken)
        yield Finding(f"chunks {name}: documents that are eligible or chunked but not both", len(wanted ^ set(spans)))


def check_sizes(chunks: Mapping[str, pl.DataFrame], definitions: Mapping[str, Definition]) -> Iterator[Finding]:
    """Compare windows with the chunks that they are matched to: mean tokens, and chunks per document (paper 3.2)."""
    for name, definition in definitions.items():
        if "windows" not in definition:
            continue
        other = definition["windows"]["match"]
        means = [float(chunks[which]["n_tokens"].mean() or 0.0) for which in (name, other)]  # type: ignore[arg-type]
        spread = [float(chunks[which]["n_tokens"].std() or 0.0) for which in (name, other)]  # type: ignore[arg-type]
        LOG.info(
            "sizes: %s %.1f (SD %.1f) tokens, %s %.1f (SD %.1f)", name, means[0], spread[0], other, means[1], spread[1]
        )
        yield Finding(f"size match {name} / {other}: |mean tokens|", abs(means[0] - means[1]), SIZE_MATCH_TOKENS)
        counts = [chunks[which].group_by("doc_id").len() for which in (name, other)]
        unequal = (
            counts[0]
            .join(counts[1], on="doc_id", how="full", coalesce=True)
            .filter(pl.col("len").ne_missing(pl.col("len_right")))
        )
        yield Finding(f"size match {name} / {other}: documents with unequal chunk counts", unequal.height)


def check_prefixes(
    views: Mapping[str, pl.DataFrame],
    definitions: Mapping[str, Definition],
    chunks: Mapping[str, pl.DataFrame],
    titles: pl.DataFrame,
    separator: str,
) -> Iterator[Finding]:
    """Check that views hold their chunks in order, and that placebos are deranged and as deep as their twins."""
    for name, view in views.items():
        boundaries = name.split(".")[0]
        moved = 0 if view["chunk_id"].equals(chunks[boundaries]["chunk_id"]) else 1
        yield Finding(f"view {name}: does not list exactly its chunks, in order", moved)
        if "placebo" not in definitions[name]:
            continue
        depth = definitions[name]["placebo"]["depth"]
        twins = [
            twin
            for twin, prefix in definitions.items()
            if twin.split(".")[0] == boundaries and prefix.get("path", {}).get("depth") == depth
        ]
        own = {"chunks": chunks[boundaries], "documents": titles, "depth": depth, "separator": separator}
        try:
            findings = [*_check_placebo(name, view, own), *_check_twins(name, view, {t: views[t] for t in twins}, own)]
        except PlaceboError as error:
            LOG.warning("placebo %s: %s", name, error)
            findings = [Finding(f"placebo {name}: prefixes that are no path of their donor, or chunks without one", 1)]
        yield from findings


def _check_placebo(name: str, view: pl.DataFrame, own: Mapping[str, Any]) -> Iterator[Finding]:
    """Check that a placebo deals every path once, and as few as possible to where they are at home."""
    buckets = verification.residuals(view, **own)
    excess = buckets.select((pl.col("residual") - pl.col("minimum")).sum()).item()
    yield Finding(f"placebo {name}: residual assignments above the least possible", excess)
    yield Finding(f"placebo {name}: pairs whose chunks got different paths", float(buckets["split_pairs"].sum()))
    lacking = verification.undealt(view, **own)
    yield Finding(f"placebo {name}: paths that no pair bears, so that it is no permutation", lacking)
    LOG.info("placebo %s: %d residual of %d pairs", name, buckets["residual"].sum(), buckets["n_pairs"].sum())


def _check_twins(
    name: str, view: pl.DataFrame, twins: Mapping[str, pl.DataFrame], own: Mapping[str, Any]
) -> Iterator[Finding]:
    """Check that a placebo's prefixes are as deep as those of the path views that it stands beside."""
    here = verification.depths(view, **own)
    for twin, path_view in twins.items():
        there = verification.depths(path_view, **own)
        yield Finding(f"placebo {name} / {twin}: chunks at another depth", _moved(here, there))


def _moved(a: pl.DataFrame, b: pl.DataFrame) -> int:
    """Return how many chunks the two distributions over depths do not share."""
    both = a.join(b, on="depth", how="full", coalesce=True).fill_null(0)
    return int(both.select((pl.col("n_chunks") - pl.col("n_chunks_right")).abs().sum()).item()) // 2


def check_rankings(cells: Sequence[Mapping[str, str]], files: Sequence[str], asked: set[str]) -> Iterator[Finding]:
    """Check that every query is in every ranking, and that cells of one view saw the same vectors.

    Two first-stage cells that share view and embedder (A3 and A4) score from one vectors file: where both rank a
    chunk for a query, its score must be the same number.
    """
    first: dict[tuple[str, str], tuple[str, pl.DataFrame]] = {}
    for cell, file in zip(cells, files, strict=True):
        ranking = RANKING.read(file)
        name = f"{cell['condition']}/{cell['embedder']}/{cell['reranker']}"
        missing = len(asked ^ set(ranking["query_id"]))
        yield Finding(f"ranking {name}: queries missing or added", missing)
        if cell["reranker"] != "none":
            continue
        key = (cell["view"], cell["embedder"])
        if key not in first:
            first[key] = (name, ranking)
            continue
        other, frame = first[key]
        shared = ranking.join(frame, on=["query_id", "chunk_id"], how="inner")
        unequal = shared.filter(pl.col("score") != pl.col("score_right")).height
        yield Finding(f"same vectors {name} / {other}: shared chunks with another score", unequal)
