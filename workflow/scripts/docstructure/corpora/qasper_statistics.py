"""The QASPER funnel in figures, beside the paper's (4.2, appendix G)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docstructure.corpora.corpus import Corpus, Item
from docstructure.spans import merge

MATCHED = ("exact", "fuzzy", "section")
TEXT = (*MATCHED, "unmatched")


@dataclass(frozen=True)
class QasperStatistics:
    """Figures of a QASPER corpus; shares are in 0..1 and NaN where there is nothing to take a share of.

    Parameters
    ----------
    papers, documents
        Papers read, and those of them that became documents.
    questions, queries
        Questions read, and those of them that became queries.
    papers_with_queries
        Documents with at least one query.
    steps
        Evidence strings by what became of them.
    drops
        Dropped questions by reason.
    types
        Queries by type.
    exact
        Share of exact matches among the text evidence that was looked up (figures and tables are not text).
    multi_span, mean_spans
        Queries with two spans or more, and spans per query.
    depth_1
        Share of documents whose sections are one level deep (or have no names).
    """

    papers: int
    documents: int
    questions: int
    queries: int
    papers_with_queries: int
    steps: dict[str, int]
    drops: dict[str, int]
    types: dict[str, int]
    exact: float
    multi_span: float
    mean_spans: float
    depth_1: float


def statistics(corpus: Corpus) -> QasperStatistics:
    """Count a corpus that the QASPER builder made."""
    n_spans = [len(merge(query.spans)) for query in corpus.queries]
    depths = [max((len(section.path) for section in document.sections), default=0) for document in corpus.documents]
    steps = _codes(corpus.funnels["evidence"])
    return QasperStatistics(
        papers=len(corpus.funnels["corpus"]),
        documents=len(corpus.documents),
        questions=len(corpus.funnels["queries"]),
        queries=len(corpus.queries),
        papers_with_queries=len({query.doc_id for query in corpus.queries}),
        steps=steps,
        drops=_codes([item for item in corpus.funnels["queries"] if not item.kept]),
        types=dict(Counter(query.type for query in corpus.queries).most_common()),
        exact=_share(steps.get("exact", 0), sum(steps.get(step, 0) for step in TEXT)),
        multi_span=_share(sum(n > 1 for n in n_spans), len(n_spans)),
        mean_spans=_share(sum(n_spans), len(n_spans)),
        depth_1=_share(sum(depth <= 1 for depth in depths), len(depths)),
    )


def render(figures: QasperStatistics) -> str:
    """Return the figures as a table with the paper's beside them."""
    rows = [
        ("papers", f"{figures.papers:,}", "1,585"),
        ("questions", f"{figures.questions:,}", "5,049"),
        ("usable questions", f"{figures.queries:,}", "4,303"),
        ("papers with one", f"{figures.papers_with_queries:,}", "1,508"),
        ("evidence matched exactly", f"{figures.exact:.1%}", "95.7%"),
        ("questions with several spans", f"{figures.multi_span:.1%}", "43.9%"),
        ("spans per question", f"{figures.mean_spans:.2f}", "2.10"),
        ("papers of depth 1", f"{figures.depth_1:.1%}", "61%"),
    ]
    lines = [
        f"{'QASPER':<30}{'here':>8}{'paper':>8}",
        *(f"{name:<30}{here:>8}{paper:>8}" for name, here, paper in rows),
    ]
    lines.append(f"questions dropped: {_listed(figures.drops)}")
    lines.append(f"evidence strings: {_listed(figures.steps)}")
    lines.append(f"query types: {_listed(figures.types)}")
    return "\n".join(lines)


def _codes(items: Sequence[Item]) -> dict[str, int]:
    return dict(Counter(item.reason.partition(":")[0] for item in items).most_common())


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def _share(part: float, whole: int) -> float:
    return part / whole if whole else float("nan")
