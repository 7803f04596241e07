"""index.html: one self-contained page with the answers, their evidence, and what they rest on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup

from docstructure.report import effects, trust
from docstructure.report.answers import Finding, Inference, find, overall, primary
from docstructure.report.effects import Setting
from docstructure.report.panel import Panel, tabulate
from docstructure.report.provenance import CellRecord, agreements, definitions_of, read_cells
from docstructure.report.sources import ARTIFACTS, Sources, read_sources, write_tables
from docstructure.report.treatments import describe, mechanism
from docstructure.report.verdict import judge

# Tables of which the panels show a selection: the page holds them in full at its end.
SELECTED = (
    "contrasts",
    "means",
    "dose_response",
    "budget",
    "per_type",
    "section_recall",
    "power",
    "placebo_replicates",
    "noise",
    "replication",
)


@dataclass(frozen=True)
class Answer:
    """One mechanism: its question, the answer over all corpora, and the evidence on each."""

    contrast: str
    subtraction: str
    title: str
    question: str
    answer: str
    verdicts: tuple[str, ...]
    findings: tuple[Finding, ...]
    conditions: tuple[tuple[str, str], ...]
    published: tuple[str, ...]


def build_report(
    *,
    corpora: Mapping[str, Mapping[str, str]],
    cells: Sequence[Mapping[str, str]],
    contrasts: Mapping[str, Sequence[str]],
    conditions: Sequence[str],
    cell: Mapping[str, str],
    confidence: float,
    bootstrap_iters: int,
    command: str,
    explorers: Mapping[str, str],
    templates: str,
    tables: str,
    page: str,
) -> None:
    """Write the report and every table beside it as CSV and parquet.

    Parameters
    ----------
    corpora
        Corpus -> artifact -> path; artifacts are those of `docstructure.report.sources.ARTIFACTS`, of which contrasts,
        means and audit are required. What is missing is said in the page.
    cells
        ``corpus``, ``condition``, ``embedder``, ``reranker``, ``scores`` and ``provenance`` (paths) of every cell.
    contrasts
        Contrast -> minuend and subtrahend, the pre-registered ones first.
    conditions
        In the order of the config; token budgets are compared with the first.
    cell
        The pre-registered ``metric``, ``embedder`` and ``reranker``.
    confidence, bootstrap_iters
        Of the tests.
    command
        What makes a target of this run: the target follows.
    explorers
        Corpus -> path of its explorer page.
    templates
        Folder with ``page.html.j2`` and ``style.css``.
    tables
        Folder of tables to write; what it held is replaced.
    page
        File to write.

    Raises
    ------
    SourcesError, ContractError
        If an artifact is unknown, missing or not what its contract promises.
    """
    sources = read_sources(corpora)
    records = read_cells(cells, command)
    definitions = definitions_of(records)
    inference = Inference(alpha=round(1 - confidence, 12), bootstrap_iters=bootstrap_iters)
    mechanisms = {
        name: mechanism(definitions.get(pair[0]), definitions.get(pair[1])) for name, pair in contrasts.items()
    }
    words = {name: describe(parts) for name, parts in definitions.items()}
    setting = Setting(cell, conditions, words, {name: title for name, (title, _) in mechanisms.items()}, inference)
    verdict = judge(sources["audit"])
    context = {
        "corpora": sources.corpora,
        "setting": setting,
        "verdict": verdict,
        "registrations": trust.registrations(sources),
        "answers": answers(sources, setting, contrasts, mechanisms),
        "sections": _sections(sources, setting, verdict),
        "explorers": {name: _relative(path, page) for name, path in explorers.items()},
        "agreements": agreements(records),
        "cells": records,
        "cells_by_corpus": _by_corpus(records),
        "tables": write_tables(sources, tables),
        "folder": _relative(tables, page),
        "full": [tabulate(sources[name], name, inference=inference) for name in SELECTED if sources[name].height],
        "absent": _absent(sources),
        "words": [(name, words[name]) for name in conditions if name in words],
    }
    write_page(render("page.html.j2", templates, context), page)


def answers(
    sources: Sources,
    setting: Setting,
    contrasts: Mapping[str, Sequence[str]],
    mechanisms: Mapping[str, tuple[str, str]],
) -> list[Answer]:
    """Return the answer to each pre-registered contrast, in the order in which they were registered."""
    registered = set(primary(sources["contrasts"], setting.cell).filter("confirmatory")["contrast"])
    published = trust.contrast_replication(sources, setting)
    return [
        _answer(sources, setting, (name, contrasts[name]), mechanisms[name], published.get(name, []))
        for name in contrasts
        if name in registered
    ]


def _answer(
    sources: Sources,
    setting: Setting,
    contrast: tuple[str, Sequence[str]],
    named: tuple[str, str],
    published: Sequence[str],
) -> Answer:
    name, (minuend, subtrahend) = contrast
    rows = primary(sources["contrasts"], setting.cell).filter(pl.col("contrast") == name)
    base = _means(sources, setting, subtrahend)
    detectable = trust.detectable(sources, setting)
    findings = [
        find(row, setting.inference, base.get(row["corpus"]), detectable.get((row["corpus"], name)))
        for row in rows.iter_rows(named=True)
    ]
    return Answer(
        contrast=name,
        subtraction=f"{minuend} − {subtrahend}",
        title=named[0],
        question=named[1],
        answer=overall(findings, (minuend, subtrahend)),
        verdicts=tuple(dict.fromkeys(finding.verdict for finding in findings)),
        findings=tuple(findings),
        conditions=tuple((each, setting.words.get(each, "not run")) for each in (minuend, subtrahend)),
        published=tuple(published),
    )


def _means(sources: Sources, setting: Setting, condition: str) -> dict[str, float]:
    rows = primary(sources["means"], setting.cell).filter(pl.col("condition") == condition)
    return dict(rows.select("corpus", "mean").iter_rows())


def _sections(sources: Sources, setting: Setting, verdict: Any) -> list[tuple[str, str, list[Panel]]]:  # noqa: ANN401
    """Return the sections of the page: anchor, title, panels."""
    trusted = [trust.audit(sources, verdict), trust.registration(sources), trust.replication(sources, setting)]
    further = (trust.power, trust.placebo, trust.noise)
    where = (effects.ladder, effects.depth, effects.budget, effects.query_types, effects.rerankers, effects.routing)
    return [
        ("evidence", "Evidence", [effects.contrasts(sources, setting), effects.exploratory(sources, setting)]),
        ("where", "Where the effect comes from", [panel(sources, setting) for panel in where]),
        ("trust", "What it rests on", [*trusted, *(panel(sources, setting) for panel in further)]),
        ("data", "Data and instrument", [trust.funnel(sources), *trust.diagnostics(sources)]),
    ]


def _by_corpus(cells: Sequence[CellRecord]) -> dict[str, list[CellRecord]]:
    grouped: dict[str, list[CellRecord]] = {}
    for cell in cells:
        grouped.setdefault(cell.corpus, []).append(cell)
    return grouped


def _absent(sources: Sources) -> list[tuple[str, str]]:
    """Return the tables that this run has no row of."""
    return [(name, description) for name, (_, description) in ARTIFACTS.items() if not sources[name].height]


def _relative(path: str, page: str) -> str:
    return Path(os.path.relpath(path, Path(page).parent)).as_posix()


def render(template: str, folder: str, context: Mapping[str, Any]) -> str:
    """Return a template of the folder, rendered; all is escaped but figures and the page's own style and script."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawn"] = Markup
    environment.globals["inline"] = lambda name: Markup((Path(folder) / name).read_text(encoding="utf-8"))
    return environment.get_template(template).render(context)


def write_page(text: str, path: str) -> None:
    """Write a page atomically."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(target)
