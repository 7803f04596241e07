"""Figures of the effects: contrasts, conditions, depth, token budgets, query types, rerankers, routing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from docstructure.report.answers import Inference, classify, primary
from docstructure.report.figures import Dot, Figure, Interval, Line, Rung, dots, forest, lines, log_ticks, rungs
from docstructure.report.numbers import counted, fixed, interval, p_relation, signed
from docstructure.report.panel import Panel, Plot, Table, tabulate, without
from docstructure.report.sources import Sources

CURVES = 7
"""Curves that one figure can tell apart."""

COLUMNS = 3
"""Corpora that stand side by side in one ladder."""


@dataclass(frozen=True)
class Setting:
    """What all panels need to know of the run.

    Parameters
    ----------
    cell
        The pre-registered metric, embedder and reranker.
    conditions
        In the order of the config.
    words
        Condition -> what it does.
    mechanisms
        Contrast -> what differs between its conditions.
    inference
        How contrasts were tested.
    """

    cell: Mapping[str, str]
    conditions: Sequence[str]
    words: Mapping[str, str]
    mechanisms: Mapping[str, str]
    inference: Inference

    @property
    def where(self) -> str:
        """The pre-registered cell in words."""
        return f"{self.cell['metric']}, {self.cell['embedder']}, reranker {self.cell['reranker']}"


def contrasts(sources: Sources, setting: Setting) -> Panel:
    """Return the forest plot of the pre-registered contrasts in their cell."""
    table = primary(sources["contrasts"], setting.cell).filter("confirmatory")
    caption = (
        f"Mean difference per query with {setting.inference.confidence} (documents resampled); {setting.where}. "
        f"Filled: p below {setting.inference.alpha:g} after Holm's correction. A cross marks the paper's value, where "
        "this corpus is the paper's."
    )
    plots = _forest(sources, setting, table, ("forest", caption))
    tables = [_contrast_table(table, setting.inference)]
    return Panel("contrasts", "Pre-registered contrasts", plots=plots, tables=tables, open=True)


def exploratory(sources: Sources, setting: Setting) -> Panel:
    """Return the forest plot of the other contrasts in the pre-registered cell."""
    table = primary(sources["contrasts"], setting.cell).filter(~pl.col("confirmatory"))
    caption = f"As above, uncorrected. Filled: p below {setting.inference.alpha:g}."
    plots = _forest(sources, setting, table, ("further", caption))
    notes = [] if plots else ["This run has no further contrast."]
    tables = [_contrast_table(table, setting.inference)] if plots else []
    lead = "The single steps between conditions, outside the pre-registered family."
    return Panel("exploratory", "Further contrasts", lead, plots, tables, notes, exploratory=True)


def _forest(sources: Sources, setting: Setting, table: pl.DataFrame, named: tuple[str, str]) -> list[Plot]:
    published = _published(sources["replication"], setting.cell["metric"])
    rows = [
        Interval(
            group=_contrast_name(row, setting.mechanisms),
            label=row["corpus"],
            text=_contrast_text(row, setting.inference),
            series=sources.corpora.index(row["corpus"]),
            value=row["delta"],
            low=row["ci_low"],
            high=row["ci_high"],
            solid=classify(row, setting.inference) in ("higher", "lower"),
            published=published.get((row["corpus"], row["contrast"])),
        )
        for row in table.sort("contrast", maintain_order=True).iter_rows(named=True)
    ]
    if not rows:
        return []
    described = "; ".join(f"{row.group}, {row.label}: {row.text}" for row in rows)
    figure = Figure(named[0], f"Contrasts: difference of {setting.cell['metric']}", described)
    return [Plot(named[1], forest(figure, rows, f"Difference of {setting.cell['metric']}"))]


def _contrast_name(row: Mapping[str, Any], mechanisms: Mapping[str, str]) -> str:
    named = f"{row['contrast']}: {row['minuend']} − {row['subtrahend']}"
    mechanism = mechanisms.get(row["contrast"])
    return f"{named} · {mechanism}" if mechanism else named


def _contrast_text(row: Mapping[str, Any], inference: Inference) -> str:
    if row["status"] != "tested":
        return str(row["status"])[:48]
    p, smallest, name = inference.decisive_p(row)
    which = "p Holm" if name.startswith("Holm") else "p"
    return f"{signed(row['delta'])} {interval(row['ci_low'], row['ci_high'])}  {which} {p_relation(p, smallest)}"


def _contrast_table(table: pl.DataFrame, inference: Inference) -> Table:
    columns = {
        "contrast": "contrast",
        "corpus": "corpus",
        "delta": "Δ",
        "ci_low": "CI low",
        "ci_high": "CI high",
        "p": "p",
        "p_holm": "p Holm",
        "dz": "d_z",
        "p_mixedlm": "p MixedLM",
        "p_paired": "p paired model",
        "n_queries": "queries",
        "n_documents": "documents",
        "status": "status",
    }
    rows = table.sort("contrast", maintain_order=True)
    return tabulate(rows, "Contrasts", columns, inference)


def _published(replication: pl.DataFrame, metric: str) -> dict[tuple[str, str], float]:
    """Return the paper's deltas of contrasts, for the paper's own corpora."""
    rows = replication.filter(
        (pl.col("quantity") == "delta")
        & (pl.col("metric") == metric)
        & (pl.col("paper_corpus") == pl.col("corpus"))
        & (pl.col("embedder") == "strong")
        & (pl.col("reranker") == "none")
        & (pl.col("bound") == "exactly")
    )
    return {(row["corpus"], row["subject"]): row["expected"] for row in rows.iter_rows(named=True)}


def ladder(sources: Sources, setting: Setting) -> Panel:
    """Return the means of all conditions in the pre-registered cell, one plot per corpus."""
    table = primary(sources["means"], setting.cell)
    plots = []
    for first in range(0, len(sources.corpora), COLUMNS):
        corpora = sources.corpora[first : first + COLUMNS]
        values = [
            dict(table.filter(pl.col("corpus") == corpus).select("condition", "mean").iter_rows()) for corpus in corpora
        ]
        rows = [
            Rung(name, setting.words.get(name, ""), tuple(own.get(name) for own in values))
            for name in setting.conditions
            if any(name in own for own in values)
        ]
        if rows:
            said = "; ".join(f"{row.label}: {', '.join(map(fixed, row.values))}" for row in rows)
            figure = Figure(
                f"ladder-{first}", f"Mean {setting.cell['metric']} per condition: {', '.join(corpora)}", said
            )
            caption = "Each corpus has its own scale: compare down a column, not across."
            plots.append(Plot(caption if len(corpora) > 1 else corpora[0], rungs(figure, rows, corpora, first)))
    lead = f"Mean {setting.cell['metric']} of every condition, from plain windows up ({setting.where})."
    shown = {name: name for name in ("corpus", "condition", "mean", "n")}
    return Panel("ladder", "Condition ladder", lead, plots, [tabulate(table, "Means", shown)])


def depth(sources: Sources, setting: Setting) -> Panel:
    """Return the score against the depth of the heading path."""
    table = sources["dose_response"].filter(
        (pl.col("metric") == setting.cell["metric"]) & (pl.col("reranker") == setting.cell["reranker"])
    )
    tested = table.filter(pl.col("status") == "tested")
    plots = []
    for index, corpus in enumerate(sources.corpora):
        rows = list(tested.filter(pl.col("corpus") == corpus).iter_rows(named=True))
        if not rows:
            continue
        drawn = [
            Line(row["embedder"] if len(rows) > 1 else "", place, tuple(zip(row["depths"], row["means"], strict=True)))
            for place, row in enumerate(rows)
        ]
        said = "; ".join(_slope(row, setting.inference) for row in rows)
        figure = Figure(f"depth-{index}", f"{setting.cell['metric']} by depth of the heading path on {corpus}", said)
        ticks = [
            (float(level), [str(level), name])
            for level, name in zip(rows[0]["depths"], rows[0]["conditions"], strict=True)
        ]
        svg = lines(figure, drawn, ticks, ("Elements of the heading path", f"Mean {setting.cell['metric']}"))
        plots.append(Plot(f"{corpus}. {said}", svg))
    notes = [
        f"{row['corpus']}, {row['embedder']}: {row['status']}."
        for row in table.filter(pl.col("status") != "tested").iter_rows(named=True)
    ]
    notes += without(sources.absent("dose_response"), "The depth curve")
    lead = "How much more the score gains with each further element of the heading path."
    return Panel(
        "depth", "Depth of the heading path", lead, plots, _some(table, "Slopes", setting), notes, exploratory=True
    )


def _slope(row: Mapping[str, Any], inference: Inference) -> str:
    return (
        f"{row['embedder']}: {signed(row['slope'])} per level {interval(row['ci_low'], row['ci_high'])}, "
        f"p {p_relation(row['p'], inference.smallest)}"
    )


def budget(sources: Sources, setting: Setting) -> Panel:
    """Return coverage under each token budget, as the difference from the first condition."""
    table = primary(sources["budget"], setting.cell)
    reference = setting.conditions[0]
    shown = _most_asked(sources, setting)
    plots = []
    for index, corpus in enumerate(sources.corpora):
        rows = table.filter(pl.col("corpus") == corpus)
        base = dict(rows.filter(pl.col("condition") == reference).select("budget", "mean").iter_rows())
        drawn = [line for place, name in enumerate(shown) if (line := _gain(rows, name, base, place)) is not None]
        if not drawn:
            continue
        ticks = [
            (math.log2(tokens), [f"{tokens:,}", f"{reference} {fixed(mean)}"]) for tokens, mean in sorted(base.items())
        ]
        said = "; ".join(f"{line.label}: {', '.join(line.tips)}" for line in drawn)
        figure = Figure(f"budget-{index}", f"Coverage under a token budget on {corpus}, less that of {reference}", said)
        axes = ("Budget in tokens, prefixes included", f"Coverage, difference from {reference}")
        plots.append(Plot(corpus, lines(figure, drawn, ticks, axes, zero=True)))
    lead = (
        f"Share of the evidence that fits into a context window, prefixes charged. Drawn as the difference from "
        f"{reference}, whose own coverage stands under each budget; a line below 0 buys less evidence per token than "
        "that."
    )
    notes = without(sources.absent("budget"), "The budget curve")
    return Panel("budget", "Token budgets", lead, plots, _some(table, "Coverage", setting), notes, exploratory=True)


def _gain(rows: pl.DataFrame, condition: str, base: Mapping[int, float], series: int) -> Line | None:
    own = rows.filter((pl.col("condition") == condition) & pl.col("budget").is_in(list(base))).sort("budget")
    points = [(tokens, mean, mean - base[tokens]) for tokens, mean in own.select("budget", "mean").iter_rows()]
    if not points:
        return None
    tips = tuple(f"{condition} at {tokens:,} tokens: {fixed(mean)} ({signed(gain)})" for tokens, mean, gain in points)
    return Line(condition, series, tuple((math.log2(tokens), gain) for tokens, _, gain in points), tips)


def _most_asked(sources: Sources, setting: Setting) -> list[str]:
    """Return the conditions that a figure of few curves shows: those of the contrasts first, in the config's order."""
    table = sources["contrasts"].filter("confirmatory")
    asked = {*table["minuend"], *table["subtrahend"]}
    rest = [name for name in setting.conditions[1:] if name not in asked]
    chosen = {*asked, *rest[: max(CURVES - len(asked), 0)]}
    return [name for name in setting.conditions[1:] if name in chosen][:CURVES]


def query_types(sources: Sources, setting: Setting) -> Panel:
    """Return the pre-registered contrasts per query type, one plot per corpus."""
    table = primary(sources["per_type"], setting.cell)
    registered = sources["contrasts"].filter("confirmatory")["contrast"].unique().to_list()
    plots = []
    for index, corpus in enumerate(sources.corpora):
        rows = [
            Interval(
                group=f"{row['contrast']}: {row['minuend']} − {row['subtrahend']}",
                label=f"{row['type']} ({row['n_queries']:,})",
                text=_type_text(row, setting.inference),
                series=index,
                value=row["delta"],
                low=row["ci_low"],
                high=row["ci_high"],
                solid=row["ci_low"] is not None and (row["ci_low"] > 0 or row["ci_high"] < 0),
            )
            for row in table.filter((pl.col("corpus") == corpus) & pl.col("contrast").is_in(registered))
            .sort("contrast", maintain_order=True)
            .iter_rows(named=True)
        ]
        if rows:
            said = "; ".join(f"{row.group}, {row.label}: {row.text}" for row in rows)
            figure = Figure(f"types-{index}", f"Contrasts per query type on {corpus}", said)
            caption = f"{corpus} (queries of each type in brackets). Filled: the interval excludes 0; uncorrected."
            plots.append(Plot(caption, forest(figure, rows, f"Difference of {setting.cell['metric']}")))
    notes = without(sources.absent("per_type"), "The panel per query type")
    lead = "Which questions profit. Corpora have their own taxonomies: a type of one is no type of another."
    return Panel(
        "types", "Query types", lead, plots, _some(table, "Contrasts per type", setting), notes, exploratory=True
    )


def _type_text(row: Mapping[str, Any], inference: Inference) -> str:
    if row["status"] != "tested":
        return str(row["status"])[:48]
    tested = f"p {p_relation(row['p'], inference.smallest)}"
    return f"{signed(row['delta'])} {interval(row['ci_low'], row['ci_high'])}  {tested}"


def rerankers(sources: Sources, setting: Setting) -> Panel:
    """Return the means before and after each reranker, per corpus and embedder that has both."""
    table = sources["means"].filter(pl.col("metric") == setting.cell["metric"])
    plots: list[Plot] = []
    pairs = (
        table.filter(pl.col("reranker") != "none").select("corpus", "embedder", "reranker").unique(maintain_order=True)
    )
    for corpus, embedder, reranker in pairs.iter_rows():
        here = table.filter((pl.col("corpus") == corpus) & (pl.col("embedder") == embedder))
        before = dict(here.filter(pl.col("reranker") == "none").select("condition", "mean").iter_rows())
        after = dict(here.filter(pl.col("reranker") == reranker).select("condition", "mean").iter_rows())
        rows = [
            Dot(name, (before[name], after[name]), f"{fixed(before[name])} → {fixed(after[name])}")
            for name in setting.conditions
            if name in before and name in after
        ]
        if rows:
            said = "; ".join(f"{row.label} {row.text}" for row in rows)
            figure = Figure(f"reranker-{len(plots)}", f"{reranker} on {corpus} with {embedder}", said)
            series = sources.corpora.index(corpus)
            svg = dots(figure, rows, f"Mean {setting.cell['metric']}", series)
            plots.append(Plot(f"{corpus}: {embedder}, hollow without, filled with {reranker}", svg))
    notes = [] if plots else ["This run has no reranker beside none, so there is nothing to compare."]
    lead = "What reranking adds to each condition, and whether the order of the conditions survives it."
    return Panel("rerankers", "Reranking", lead, plots, [], notes, exploratory=True)


def routing(sources: Sources, setting: Setting) -> Panel:
    """Return how often stage 1 of two-stage retrieval keeps a section with evidence, against the inventory's size."""
    table = sources["section_recall"].filter(pl.col("embedder") == setting.cell["embedder"])
    plots = []
    for index, corpus in enumerate(sources.corpora):
        rows = table.filter(pl.col("corpus") == corpus).sort("n_sections")
        if not rows.height:
            continue
        drawn = []
        for place, (condition,) in enumerate(rows.select("condition").unique(maintain_order=True).iter_rows()):
            points = list(
                rows.filter(pl.col("condition") == condition).select("n_sections", "section_recall").iter_rows()
            )
            tips = tuple(f"{condition}: {fixed(recall)} of {round(n):,} sections" for n, recall in points)
            drawn.append(Line(condition, place, tuple((math.log2(n), recall) for n, recall in points), tips))
        kept = rows["routed_sections"][0]
        said = "; ".join(", ".join(line.tips) for line in drawn)
        figure = Figure(f"routing-{index}", f"Section recall of stage 1 by inventory on {corpus}", said)
        svg = lines(
            figure, drawn, log_ticks(rows["n_sections"].to_list()), ("Sections to choose from", "Section recall")
        )
        plots.append(Plot(f"{corpus}: stage 1 keeps {counted(kept, 'section')} a query", svg))
    notes = without(sources.absent("section_recall"), "Section recall")
    lead = (
        "What stage 1 drops, stage 2 cannot recover: the share of queries for which routing keeps a section with "
        "evidence, as the inventory grows."
    )
    return Panel("routing", "Routing", lead, plots, _some(table, "Section recall", setting), notes, exploratory=True)


# What the table under a figure shows of its artifact; the end of the page holds it in full.
SHOWN = {
    "Slopes": ("corpus", "embedder", "slope", "ci_low", "ci_high", "p", "n_queries", "n_documents", "status"),
    "Coverage": ("corpus", "condition", "budget", "mean", "ci_low", "ci_high", "n"),
    "Contrasts per type": ("corpus", "contrast", "type", "delta", "ci_low", "ci_high", "p", "n_queries", "status"),
    "Section recall": ("corpus", "condition", "document_share", "n_documents", "n_sections", "section_recall"),
}


def _some(table: pl.DataFrame, title: str, setting: Setting) -> list[Table]:
    columns = {name: name.replace("_", " ") for name in SHOWN[title]}
    return [tabulate(table, title, columns, setting.inference)] if table.height else []
