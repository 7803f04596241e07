"""The tables of contrasts, means and audit over all corpora, like the paper's Tables 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from docstructure.contracts.audit import AUDIT
from docstructure.contracts.contract import Contract
from docstructure.contracts.contrasts import CONTRASTS
from docstructure.contracts.means import MEANS
from docstructure.report.answers import Inference

Row = Mapping[str, object]


def build_tables(
    *,
    corpora: Sequence[str],
    conditions: Sequence[str],
    cell: Mapping[str, str],
    bootstrap_iters: int,
    confidence: float,
    contrast_files: Sequence[str],
    mean_files: Sequence[str],
    audit_files: Sequence[str],
    contrasts_csv: str,
    contrasts_md: str,
    means_csv: str,
    means_md: str,
    audit_csv: str,
    audit_md: str,
) -> None:
    """Write the combined tables: every row as CSV, the pre-registered cell as Markdown.

    Parameters
    ----------
    corpora
        Names, in the order of the files.
    conditions
        Columns of the table of means.
    cell
        The pre-registered metric, embedder and reranker.
    bootstrap_iters
        Replicates behind each p: a p of 0 is printed as below 2 / bootstrap_iters.
    confidence
        Coverage of the intervals.
    contrast_files, mean_files, audit_files
        One per corpus.
    contrasts_csv, contrasts_md, means_csv, means_md, audit_csv, audit_md
        Files to write.
    """
    contrasts = _stack(CONTRASTS, corpora, contrast_files)
    means = _stack(MEANS, corpora, mean_files)
    audit = _stack(AUDIT, corpora, audit_files)
    inference = Inference(alpha=round(1 - confidence, 12), bootstrap_iters=bootstrap_iters)
    contrasts.write_csv(contrasts_csv)
    means.write_csv(means_csv)
    audit.write_csv(audit_csv)
    Path(contrasts_md).write_text(contrasts_table(contrasts, cell, inference), encoding="utf-8")
    Path(means_md).write_text(means_table(means, conditions, cell), encoding="utf-8")
    Path(audit_md).write_text(audit_table(audit), encoding="utf-8")


def _stack(contract: Contract, corpora: Sequence[str], files: Sequence[str]) -> pl.DataFrame:
    return pl.concat(
        contract.read(file).select(pl.lit(corpus).alias("corpus"), pl.all())
        for corpus, file in zip(corpora, files, strict=True)
    )


def _where(cell: Mapping[str, str]) -> str:
    return f"{cell['metric']}, {cell['embedder']}, reranker {cell['reranker']}"


def contrasts_table(contrasts: pl.DataFrame, cell: Mapping[str, str], inference: Inference) -> str:
    """Return the confirmatory contrasts as a Markdown table, one row per contrast and corpus."""
    rows = contrasts.filter(
        (pl.col("metric") == cell["metric"])
        & (pl.col("embedder") == cell["embedder"])
        & (pl.col("reranker") == cell["reranker"])
    ).sort("contrast", maintain_order=True)
    tests = ("p (bootstrap)", "p (Holm)", "d_z", "p (MixedLM)")
    header = ("Contrast", "Corpus", "Δ", inference.confidence, *tests, "n (docs)", "")
    body = [_contrast_row(row, inference.smallest) for row in rows.iter_rows(named=True)]
    return f"Contrasts in the pre-registered cell ({_where(cell)})\n\n{_markdown(header, body)}"


def _contrast_row(row: Row, smallest: float) -> tuple[str, ...]:
    name = f"{row['contrast']}: {row['minuend']} − {row['subtrahend']}"
    if row["status"] != "tested":
        return (name, str(row["corpus"]), *("n/a",) * 7, str(row["status"]))
    return (
        name,
        str(row["corpus"]),
        _signed(row["delta"]),
        f"[{_signed(row['ci_low'])}, {_signed(row['ci_high'])}]",
        _p(row["p"], smallest),
        _p(row["p_holm"], smallest * int(str(row["family_size"] or 1))),
        _signed(row["dz"], 2),
        _p(row["p_mixedlm"], 1e-4),
        f"{row['n_queries']} ({row['n_documents']})",
        "confirmatory" if row["confirmatory"] else "exploratory",
    )


def means_table(means: pl.DataFrame, conditions: Sequence[str], cell: Mapping[str, str]) -> str:
    """Return the mean of the pre-registered metric per corpus, embedder and reranker as a Markdown table."""
    rows = means.filter(pl.col("metric") == cell["metric"])
    header = ("Corpus", "Embedder", "Reranker", *conditions)
    body = []
    for (corpus, embedder, reranker), group in rows.group_by("corpus", "embedder", "reranker", maintain_order=True):
        mean = dict(group.select("condition", "mean").iter_rows())
        cells = (f"{mean[name]:.3f}" if name in mean else "n/a" for name in conditions)
        body.append((str(corpus), str(embedder), str(reranker), *cells))
    return f"Mean {cell['metric']} per condition\n\n{_markdown(header, body)}"


def audit_table(audit: pl.DataFrame) -> str:
    """Return the invariants as a Markdown table, those that do not hold first."""
    rows = audit.sort("holds", maintain_order=True)
    body = [
        (
            str(row["corpus"]),
            str(row["invariant"]),
            f"{row['value']:g}",
            f"{row['limit']:g}",
            "yes" if row["holds"] else "NO",
        )
        for row in rows.iter_rows(named=True)
    ]
    failed = rows.height - int(rows["holds"].sum())
    return f"Design invariants: {failed} of {rows.height} do not hold\n\n" + _markdown(
        ("Corpus", "Invariant", "Value", "Limit", "Holds"), body
    )


def _signed(value: object, digits: int = 4) -> str:
    return f"{value:+.{digits}f}" if isinstance(value, float) else "n/a"


def _p(value: object, smallest: float) -> str:
    """Print a p-value; what B replicates cannot tell from 0 is printed as below the smallest that they can tell."""
    if not isinstance(value, float):
        return "n/a"
    return f"< {smallest:g}" if value < smallest else f"{value:.4f}"


def _markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (header, *body)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, body)]) + "\n"
