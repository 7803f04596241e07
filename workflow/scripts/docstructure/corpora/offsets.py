"""Evidence given as characters of a source file, placed in the documents that were made of it.

The rule: of a span of the file, every character that lies in a paragraph is evidence, in as many spans as there are
paragraphs. White space between paragraphs is no evidence. Other characters outside paragraphs (headings) cannot be
found by any retriever; how many were left out stands in the funnel, and a query left with none is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from docstructure.corpora.corpus import CorpusError, Document, Item, Query
from docstructure.corpora.source import BOM
from docstructure.spans import Span, merge

SEVERAL_DOCUMENTS = ("drop", "split")


@dataclass(frozen=True)
class Reference:
    """A piece of evidence in its documents.

    Parameters
    ----------
    item_id
        Its name in the funnel.
    spans
        Document to spans of its text, in reading order; only documents that hold some of it.
    reason
        What was left out of it, if anything.
    """

    item_id: str
    spans: Mapping[str, tuple[Span, ...]]
    reason: str = ""

    def item(self) -> Item:
        """Return it as an item of the funnel ``evidence``."""
        return Item(self.item_id, bool(self.spans), self.reason)


@dataclass
class Settled:
    """Queries with their evidence, and what each filter kept and dropped, collected query by query."""

    queries: list[Query] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    evidence: list[Item] = field(default_factory=list)

    def drop(self, query_id: str, reason: str) -> None:
        """Record a query without a place in the corpus."""
        self.items.append(Item(query_id, False, reason))

    def require_queries(self, where: str) -> None:
        """Refuse a source whose queries were all dropped; the message counts the reasons."""
        if not self.queries:
            counts = Counter(item.reason.split(":")[0] for item in self.items)
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items())) or "there was none"
            raise CorpusError(f"{where}: no query is left ({reasons})")


def visible(text: str) -> str:
    """Return the characters of `text` that are neither white space nor a byte order mark."""
    return "".join(text.replace(BOM, "").split())


def place(item_id: str, documents: Sequence[Document], text: str, start: int, end: int, *, where: str) -> Reference:
    """Place ``text[start:end]`` of a source file in the documents made of that file.

    Raises
    ------
    CorpusError
        If the characters placed are not those of the source: a document that is no verbatim copy of it.
    """
    spans = {document.doc_id: _spans_with_text(document, start, end) for document in documents}
    spans = {doc_id: found for doc_id, found in spans.items() if found}
    wanted = visible(text[start:end])
    found = "".join(
        visible(document.text[slice(*span)]) for document in documents for span in spans.get(document.doc_id, ())
    )
    lost = len(wanted) - len(found)
    if lost < 0 or (lost == 0 and wanted != found):
        raise CorpusError(f"{where}: [{start}, {end}) was placed on other characters than its own")
    if not found:
        return Reference(item_id, {}, f"outside_text: all {len(wanted)} characters")
    return Reference(item_id, spans, f"outside_text: {lost} of {len(wanted)} characters" if lost else "")


def _spans_with_text(document: Document, start: int, end: int) -> tuple[Span, ...]:
    return tuple(span for span in document.from_origin(start, end) if not document.text[slice(*span)].isspace())


def settle(
    settled: Settled,
    query: Query,
    references: Sequence[Reference],
    several_documents: str,
    where: str,
) -> None:
    """Add a query with its placed evidence; `query` gives id, text and type, its own document and spans are not read.

    A query has one document here. Where evidence lies in several, ``drop`` leaves the query out with a reason, and
    ``split`` makes one query of each document (ids ``{query_id}@1`` …): in each of these, what the other documents
    hold counts as not relevant.

    Raises
    ------
    CorpusError
        If no character of its evidence is in the text of a document.
    """
    settled.evidence += [reference.item() for reference in references]
    spans: dict[str, list[Span]] = {}
    for reference in references:
        for doc_id, found in reference.spans.items():
            spans.setdefault(doc_id, []).extend(found)
    if not spans:
        reasons = "; ".join(reference.reason for reference in references)
        raise CorpusError(f"{where}: no evidence of query {query.query_id} is in the text of its document ({reasons})")
    if len(spans) > 1 and several_documents == "drop":
        settled.drop(query.query_id, f"several_documents: {', '.join(spans)}")
        return
    lost = [reference.item_id for reference in references if reference.reason]
    note = f"evidence_left_out: {', '.join(lost)}" if lost else ""
    for index, (doc_id, pieces) in enumerate(spans.items(), start=1):
        query_id = query.query_id if len(spans) == 1 else f"{query.query_id}@{index}"
        settled.queries.append(Query(query_id, doc_id, query.query, query.type, tuple(merge(pieces))))
        settled.items.append(Item(query_id, True, note or ("" if len(spans) == 1 else f"split: {query.query_id}")))


def check_several_documents(value: str) -> None:
    """Refuse an unknown value of the option ``several_documents``."""
    if value not in SEVERAL_DOCUMENTS:
        raise ValueError(f"several_documents: {value!r} is none of {', '.join(SEVERAL_DOCUMENTS)}")
