"""What the effects rest on: audit, registration, replication, power, noise, redrawn placebos."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from docstructure.report.answers import primary
from docstructure.report.effects import Setting
from docstructure.report.figures import Bar, Figure, Interval, bars, forest
from docstructure.report.numbers import counted, fixed, interval, joined, share, signed
from docstructure.report.panel import Panel, Plot, Table, tabulate, without
from docstructure.report.registration import standing
from docstructure.report.sources import Sources
from docstructure.report.verdict import Verdict

Rows = Sequence[Mapping[str, Any]]

VERDICT_TONES = {
    "within tolerance": "kept",
    "same sign and significance": "near",
    "different": "drop0",
    "not measured": "drop1",
}


def audit(sources: Sources, verdict: Verdict) -> Panel:
    """Return the invariants, failed ones first."""
    table = tabulate(sources["audit"].sort("holds", maintain_order=True), "Design invariants")
    lead = (
        f"{verdict.headline}. Each is recomputed from the artifacts; none trusts the stage that made them. "
        "Those that do not hold come first."
    )
    return Panel("audit", "Audit", lead, tables=[table], open=not verdict.fit)


@dataclass(frozen=True)
class Registration:
    """The state of one corpus's pre-registration: whether it is as it should be, and what to say of it."""

    corpus: str
    sound: bool
    status: str


def registrations(sources: Sources) -> list[Registration]:
    """Return the state of every corpus's pre-registration."""
    table = sources["registration"]
    return [
        Registration(corpus, *registration_status(table.filter(pl.col("corpus") == corpus)))
        for corpus in sources.corpora
    ]


def registration(sources: Sources) -> Panel:
    """Return whether the pre-registered block is the one that was recorded before the first score."""
    table = sources["registration"]
    states = registrations(sources)
    tables = [tabulate(table, "Record")] if table.height else []
    notes = [f"{state.corpus}: {state.status}" for state in states]
    lead = "The confirmatory cell and contrasts, as recorded before the first score and ever after."
    open_ = not all(state.sound for state in states)
    return Panel("registration", "Pre-registration", lead, tables=tables, notes=notes, open=open_)


def registration_status(table: pl.DataFrame) -> tuple[bool, str]:
    """Return whether the registration of one corpus is sound, and what to say of it."""
    if not table.height:
        return False, "no record of the pre-registration was given to this report: whether it changed is unknown."
    found = standing(table)
    if found is None:
        return False, (
            "the block of this config is not in the record: it was changed and not registered. Run the workflow again."
        )
    first = found.registered
    since = f"since {first['registered']} (digest {first['digest'][:12]}){_early(first)}"
    if not found.changes:
        return found.sound, f"unchanged {since}."
    times = counted(len(found.changes), "time")
    return False, f"CHANGED {times} {since}: {'; '.join(map(_change, found.changes))}."


def _early(row: Mapping[str, Any]) -> str:
    if row["scores_before"] is None:
        return ""
    if row["scores_before"] == 0:
        return ", recorded before the first score existed"
    return f", but {counted(row['scores_before'], 'score file')} existed already when it was recorded"


def _change(row: Mapping[str, Any]) -> str:
    known = "" if row["scores_before"] is None else f" ({counted(row['scores_before'], 'score file')} existed)"
    return f"on {row['registered']}{known} {', '.join(row['changes']) or 'no key is named'}"


def replication(sources: Sources, setting: Setting) -> Panel:
    """Return the verdicts on the paper's numbers: counted per corpus, those of the contrasts in full."""
    table = sources["replication"]
    if not table.height:
        return Panel("replication", "Replication", "No number of the paper was compared with this run.")
    counts = table.group_by("corpus", "verdict", maintain_order=True).len("n")
    rows = [_verdict_bar(corpus, counts) for corpus in table["corpus"].unique(maintain_order=True)]
    said = "; ".join(f"{row.label}: {row.text}" for row in rows)
    figure = Figure("replication", "Verdicts on the paper's numbers", said)
    chosen = table.filter(
        (pl.col("quantity") == "delta") & (pl.col("metric") == setting.cell["metric"]) & (pl.col("embedder") != "weak")
    )
    columns = ("subject", "corpus", "paper_corpus", "reranker", "expected", "measured", "difference", "tolerance")
    lead = (
        "Numbers of the paper beside this run's. On the paper's own corpora each is within tolerance, of the same sign "
        "and significance, or different; on another corpus only the direction is compared."
    )
    return Panel(
        "replication",
        "Replication",
        lead,
        [Plot("Verdicts per corpus", bars(figure, rows))],
        [tabulate(chosen, "Contrasts", _same((*columns, "verdict", "note")))],
        open=True,
    )


def _verdict_bar(corpus: str, counts: pl.DataFrame) -> Bar:
    of = dict(counts.filter(pl.col("corpus") == corpus).select("verdict", "n").iter_rows())
    total = sum(of.values())
    parts = tuple((name, of.get(name, 0) / total, tone) for name, tone in VERDICT_TONES.items())
    return Bar(corpus, ", ".join(f"{of[name]} {name}" for name in VERDICT_TONES if name in of), parts)


def contrast_replication(sources: Sources, setting: Setting) -> dict[str, list[str]]:
    """Return contrast -> what the paper says of it beside this run's number, a sentence per number."""
    rows = sources["replication"].filter(
        (pl.col("quantity") == "delta")
        & (pl.col("metric") == setting.cell["metric"])
        & (pl.col("embedder") == "strong")
        & (pl.col("reranker") == "none")
    )
    said: dict[str, list[str]] = {}
    for row in rows.iter_rows(named=True):
        measured = "not measured here" if row["measured"] is None else f"{signed(row['measured'])} on {row['corpus']}"
        said.setdefault(row["subject"], []).append(
            f"paper, {row['paper_corpus']}: {signed(row['expected'])}; {measured}: {row['verdict']}"
        )
    return said


def power(sources: Sources, setting: Setting) -> Panel:
    """Return the minimal detectable effects of the pre-registered contrasts."""
    table = primary(sources["power"], setting.cell)
    one = table.unique(["corpus", "contrast"], keep="first", maintain_order=True)
    columns = {
        "corpus": "corpus",
        "contrast": "contrast",
        "n_queries": "queries",
        "n_documents": "documents",
        "sd": "SD of deltas",
        "se": "standard error",
        "design_effect": "design effect",
        "effective_n": "effective queries",
        "mde": "minimal detectable effect",
        "target_power": "at power",
        "alpha": "alpha",
    }
    tables: list[Table] = [tabulate(one, "Minimal detectable effects", columns)] if one.height else []
    if one.height:
        curve = _same(("corpus", "contrast", "effect", "power"))
        tables.append(tabulate(table, "Power at given effects", curve))
    notes = without(sources.absent("power"), "Power")
    lead = (
        "The smallest true difference that this corpus's documents and queries would show reliably in a single test; "
        "the first step of a correction for four contrasts needs one about a fifth larger."
    )
    return Panel("power", "Power", lead, tables=tables, notes=notes, exploratory=True)


def detectable(sources: Sources, setting: Setting) -> dict[tuple[str, str], float]:
    """Return (corpus, contrast) -> minimal detectable effect in the pre-registered cell."""
    rows = primary(sources["power"], setting.cell).select("corpus", "contrast", "mde")
    return {(corpus, contrast): mde for corpus, contrast, mde in rows.iter_rows()}


def noise(sources: Sources, setting: Setting) -> Panel:
    """Return what numerics alone change, beside the effects."""
    table = sources["noise"]
    shifts = table.filter((pl.col("scope") == "contrast") & (pl.col("metric") == setting.cell["metric"]))
    lead = "The same study embedded with another dtype, device or shape scheme: an effect must be larger than that."
    if shifts.height:
        largest = shifts.sort(pl.col("shift").abs(), descending=True).row(0, named=True)
        lead += (
            f" Largest shift of a contrast: {signed(largest['shift'], 6)} ({largest['name']} on {largest['corpus']}, "
            f"{largest['variant']} for {largest['reference']})."
        )
    columns = ("corpus", "variant", "scope", "name", "metric", "n_changed", "max_abs", "mean_abs", "shift")
    chosen = table.filter(pl.col("metric") == setting.cell["metric"])
    tables = [tabulate(chosen, "Numeric noise", _same(columns))] if chosen.height else []
    notes = without(sources.absent("noise"), "The noise floor")
    return Panel("noise", "Numeric noise", lead, tables=tables, notes=notes, exploratory=True)


def placebo(sources: Sources, setting: Setting) -> Panel:
    """Return the contrasts with a placebo under every draw of its derangement."""
    table = primary(sources["placebo_replicates"], setting.cell)
    tested = table.filter(pl.col("status") == "tested")
    rows = [
        Interval(
            group=f"{row['contrast']} on {row['corpus']}",
            label=f"{row['placebo']}, seed {row['seed']}",
            text=f"{signed(row['delta'])} {interval(row['ci_low'], row['ci_high'])}",
            series=sources.corpora.index(row["corpus"]),
            value=row["delta"],
            low=row["ci_low"],
            high=row["ci_high"],
            solid=bool(row["drawn_first"]),
        )
        for row in tested.iter_rows(named=True)
    ]
    said = [
        f"{row['contrast']} on {row['corpus']}: {counted(row['n_draws'], 'draw')}, mean {signed(row['draws_mean'])}, "
        f"SD {fixed(row['draws_sd'], 4)}, from {signed(row['draws_low'])} to {signed(row['draws_high'])}."
        for row in tested.unique(["corpus", "contrast"], keep="first", maintain_order=True).iter_rows(named=True)
    ]
    plots = []
    if rows:
        figure = Figure("placebo", "Contrasts under further draws of the placebo", " ".join(said))
        caption = f"{' '.join(said)} Filled: the registered draw."
        plots = [Plot(caption, forest(figure, rows, f"Difference of {setting.cell['metric']}"))]
    notes = without(sources.absent("placebo_replicates"), "The redrawn placebo")
    lead = "One derangement is one draw; the spread over further draws stands beside the interval over documents."
    columns = ("corpus", "contrast", "placebo", "seed", "drawn_first", "delta", "ci_low", "ci_high", "p", "status")
    tables = [tabulate(table, "Draws", _same(columns), setting.inference)] if table.height else []
    return Panel("placebo", "Placebo draws", lead, plots, tables, notes, exploratory=True)


def funnel(sources: Sources) -> Panel:
    """Return what was kept and dropped at each stage of building the corpora, and why."""
    table = sources["funnel_summary"]
    rows = []
    for (corpus, stage), group in table.group_by("corpus", "stage", maintain_order=True):
        kept = int(group["n_kept"][0]), int(group["n_stage"][0])
        dropped = group.filter(~pl.col("kept")).sort("n", descending=True)
        parts = [("kept", kept[0] / max(kept[1], 1), "kept")]
        parts += [
            (reason, share_of, f"drop{place % 3}")
            for place, (reason, share_of) in enumerate(dropped.select("reason", "share").iter_rows())
        ]
        rows.append(Bar(f"{corpus}: {stage}", f"{kept[0]:,} of {kept[1]:,} kept", tuple(parts)))
    plots = []
    if rows:
        figure = Figure("funnel", "Funnel of documents and queries", "; ".join(f"{r.label}: {r.text}" for r in rows))
        plots = [Plot("Dark: kept. Light: dropped, each reason in its own tone (named below).", bars(figure, rows))]
    notes = without(sources.absent("funnel_summary"), "The funnel")
    tables = [tabulate(table, "Reasons")] if table.height else []
    return Panel("funnel", "Funnel", "What entered the corpora, what was dropped, and why.", plots, tables, notes)


def _same(names: Sequence[str]) -> dict[str, str]:
    return {name: name.replace("_", " ") for name in names}


DIAGNOSTICS = {
    "query_profile": "Queries",
    "structure_summary": "Structures",
    "topics": "Topics",
    "size_match": "Chunk sizes",
    "span_identity": "Span identity",
    "placebo_residuals": "Placebo residuals",
    "truncation": "Truncated prefixes",
    "bm25_probe": "BM25 probe",
    "stage_costs": "Time and memory",
}


def diagnostics(sources: Sources) -> list[Panel]:
    """Return the tables that say what the instrument was like."""
    panels = []
    for name, title in DIAGNOSTICS.items():
        table = sources[name]
        if table.height:
            reading = READINGS[name](list(table.iter_rows(named=True))) if name in READINGS else ""
            notes = without(sources.absent(name), f"“{title}”")
            panels.append(Panel(name.replace("_", "-"), title, reading, (), [tabulate(table, title)], notes))
    return panels


def _read_probe(rows: Rows) -> str:
    said = [f"{share(row['share'])} on {row['corpus']} ({row['boundaries']})" for row in rows]
    return f"Queries for which a keyword search puts evidence first: {joined(said)}."


def _read_identity(rows: Rows) -> str:
    said = [
        f"{share(row['share'])} of the {row['boundaries']} chunks on {row['corpus']} have the span of a "
        f"{row['reference']} chunk"
        for row in rows
    ]
    return f"{joined(said)}."


def _read_truncation(rows: Rows) -> str:
    cut, over = sum(row["n_truncated"] for row in rows), sum(row["n_over"] for row in rows)
    prefixes = f"{counted(cut, 'prefix', 'prefixes')} {'was' if cut == 1 else 'were'} cut to fit"
    return f"{prefixes}; {counted(over, 'text')} {'is' if over == 1 else 'are'} above the limit all the same."


def _read_costs(rows: Rows) -> str:
    seconds = sum(row["seconds"] for row in rows)
    return f"{counted(len(rows), 'job')}, {fixed(seconds / 60, 1)} minutes of wall-clock time in all that were timed."


def _read_residuals(rows: Rows) -> str:
    above = sum(row["residual"] > row["minimum"] for row in rows)
    if above:
        return f"{counted(above, 'bucket')} above the least possible number of residual pairs."
    return "Every bucket is at the least possible number of residual pairs."


# What a diagnostic says, in a sentence made of its numbers.
READINGS: dict[str, Callable[[Rows], str]] = {
    "bm25_probe": _read_probe,
    "span_identity": _read_identity,
    "truncation": _read_truncation,
    "stage_costs": _read_costs,
    "placebo_residuals": _read_residuals,
}
