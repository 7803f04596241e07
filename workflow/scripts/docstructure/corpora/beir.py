"""BEIR-like collections: corpus.jsonl, queries.jsonl and qrels, with evidence spans and sections where given.

A document is ``{"_id", "title"?, "text", "metadata"?: {"sections"?: [{"title", "level"?, "start"}]}}``: a section
begins at character ``start`` of the text, which has no headings in it. A query is ``{"_id", "text", "metadata"?:
{"type"?, "spans"?: [{"doc", "start", "end", "text"?}]}}``: characters of that document's ``text``. A query without
spans has its relevant documents, whole, as evidence; grades are not kept: a document is relevant or it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docstructure.corpora.corpus import Block, Corpus, CorpusError, Document, Heading, Item, Query, assemble
from docstructure.corpora.offsets import Reference, Settled, check_several_documents, place, settle
from docstructure.corpora.source import SourceText, decode, identifier, paragraphs_at, read_jsonl, take_text

UNTYPED = "unspecified"
QRELS_COLUMNS = 3


@dataclass(frozen=True)
class Options:
    """Options of the BEIR builder.

    Parameters
    ----------
    folder
        Folder of the collection.
    corpus, queries, qrels
        Its files, relative to `folder`; `qrels` may be null where every query carries spans.
    min_score
        The smallest score in the qrels that is relevant.
    several_documents
        A query with evidence in several documents: ``drop`` it with a reason, or ``split`` it.
    licence
        Licence of the texts, kept with each document.
    """

    folder: str
    corpus: str = "corpus.jsonl"
    queries: str = "queries.jsonl"
    qrels: str | None = "qrels/test.tsv"
    min_score: int = 1
    several_documents: str = "drop"
    licence: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.min_score, int) or isinstance(self.min_score, bool) or self.min_score < 1:
            raise ValueError(f"min_score: {self.min_score!r} must be a whole number from 1")
        check_several_documents(self.several_documents)


@dataclass(frozen=True)
class Collection:
    """Documents by their id in the source, and the text that spans count characters of."""

    documents: Mapping[str, Document]
    sources: Mapping[str, SourceText]


def build(options: Options) -> Corpus:
    """Read a collection.

    Raises
    ------
    CorpusError
        If a file is missing or unreadable, an id repeats, the qrels or a span name an unknown document or query, or a
        span lies outside its document or is not its ``text``; the message names file and line.
    """
    folder = Path(options.folder)
    collection = _read_corpus(folder / options.corpus, options.licence)
    qrels_path = folder / options.qrels if options.qrels is not None else None
    qrels = _read_qrels(qrels_path) if qrels_path is not None else {}
    settled = Settled()
    seen: dict[str, str] = {}
    for number, row in read_jsonl(folder / options.queries):
        where = f"{folder / options.queries}, line {number}"
        name = take_text(row, "_id", where)
        _claim(identifier(name), where, seen)
        _settle_query(settled, row, collection, qrels.pop(name, {}), options=options, where=where)
    if not seen:
        raise CorpusError(f"{folder / options.queries}: no query in it")
    for name, judged in qrels.items():
        raise CorpusError(f"{next(iter(judged.values()))[1]}: query {name} is not in {folder / options.queries}")
    settled.require_queries(str(folder / options.queries))
    found = collection.documents.values()
    items = [Item(one.doc_id, bool(one.paragraphs), "" if one.paragraphs else "empty") for one in found]
    kept = [document for document in found if document.paragraphs]
    return Corpus(kept, settled.queries, {"corpus": items, "queries": settled.items, "evidence": settled.evidence})


def _claim(name: str, where: str, seen: dict[str, str]) -> None:
    if name in seen:
        raise CorpusError(
            f"{where}: _id {name} occurs twice (white space in ids becomes _): it is also in {seen[name]}"
        )
    seen[name] = where


def _metadata(row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise CorpusError(f"{where}: metadata must be an object, not {metadata!r}")
    return metadata


def _entries(metadata: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """Return the list of objects under `key` of the metadata; empty where there is none."""
    entries = metadata.get(key) or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CorpusError(f"{where}: metadata.{key} must be a list of objects")
    return entries


def _read_corpus(path: Path, licence: str) -> Collection:
    documents: dict[str, Document] = {}
    sources: dict[str, SourceText] = {}
    seen: dict[str, str] = {}
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        name = take_text(row, "_id", where)
        _claim(identifier(name), where, seen)
        if "text" not in row:
            raise CorpusError(f"{where}: text is missing")
        text = take_text(row, "text", where, "")
        sections = _entries(_metadata(row, where), "sections", where)
        blocks = _read_blocks(text, sections, where)
        title = " ".join(take_text(row, "title", where, "").split())
        documents[name] = assemble(identifier(name), title, blocks, path=f"{path.name}:{number}", licence=licence)
        sources[name] = SourceText(f"the text of {name}", text, len(text))
    if not any(document.paragraphs for document in documents.values()):
        raise CorpusError(f"{path}: the corpus is empty: none of its {len(documents)} documents has text")
    return Collection(documents, sources)


def _read_blocks(text: str, sections: Sequence[Mapping[str, Any]], where: str) -> list[Block]:
    """Return the blocks of a text that is cut where its sections begin."""
    blocks: list[Block] = []
    position = 0
    for index, section in enumerate(sections, start=1):
        named = f"{where}, section {index}"
        title, start, level = take_text(section, "title", named), section.get("start"), section.get("level", 1)
        if not isinstance(level, int) or isinstance(level, bool) or level < 1:
            raise CorpusError(f"{named}: level must be a whole number from 1, not {level!r}")
        if not isinstance(start, int) or isinstance(start, bool) or not position <= start <= len(text):
            raise CorpusError(
                f"{named}: start must be a whole number from the section before ({position}) to the text's end "
                f"({len(text)}), not {start!r}"
            )
        blocks += paragraphs_at(text, position, start)
        blocks.append(Heading(level, title))
        position = start
    blocks += paragraphs_at(text, position)
    return blocks


def _read_qrels(path: Path) -> dict[str, dict[str, tuple[int, str]]]:
    """Return query to document to score and place in the file."""
    qrels: dict[str, dict[str, tuple[int, str]]] = {}
    for number, line in enumerate(decode(path, "utf-8-sig").split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        where = f"{path}, line {number}"
        if not line.strip() or (number == 1 and cells[-1].strip() == "score"):
            continue
        if len(cells) != QRELS_COLUMNS:
            raise CorpusError(
                f"{where}: query-id, corpus-id and score are expected, with tabs; found {len(cells)} columns"
            )
        query, document, score = cells
        try:
            grade = int(score)
        except ValueError:
            raise CorpusError(f"{where}: score must be a whole number, not {score!r}") from None
        judged = qrels.setdefault(query, {})
        if document in judged:
            raise CorpusError(
                f"{where}: query {query} and document {document} occur twice: also in {judged[document][1]}"
            )
        judged[document] = (grade, where)
    if not qrels:
        raise CorpusError(f"{path}: no judgement in it")
    return qrels


def _settle_query(
    settled: Settled,
    row: Mapping[str, Any],
    collection: Collection,
    judged: Mapping[str, tuple[int, str]],
    *,
    options: Options,
    where: str,
) -> None:
    """Add one query; `judged` holds its lines of the qrels."""
    metadata = _metadata(row, where)
    query_id = identifier(take_text(row, "_id", where))
    kind = take_text(metadata, "type", where, UNTYPED)
    query = Query(query_id, "", take_text(row, "text", where), kind, ())
    for name, (_, place_of) in judged.items():
        if name not in collection.documents:
            raise CorpusError(f"{place_of}: document {name} is not in {options.corpus}")
    relevant = [name for name, (score, _) in judged.items() if score >= options.min_score]
    spans = _entries(metadata, "spans", where)
    if spans:
        references = [
            _place_span(span, f"{query_id}#{index}", collection, f"{where}, span {index}")
            for index, span in enumerate(spans, start=1)
        ]
        for name in sorted(set(relevant) - {span["doc"] for span in spans}):
            settled.evidence.append(Item(f"{query_id}@{identifier(name)}", False, "relevant_without_span"))
    else:
        references = [
            _whole_document(f"{query_id}#{i}", collection.documents[n]) for i, n in enumerate(relevant, start=1)
        ]
        if not any(reference.spans for reference in references):
            settled.evidence += [reference.item() for reference in references]
            settled.drop(query_id, "empty_document" if references else "not_relevant" if judged else "no_qrels")
            return
    settle(settled, query, references, options.several_documents, where)


def _place_span(span: Mapping[str, Any], item_id: str, collection: Collection, where: str) -> Reference:
    name = take_text(span, "doc", where)
    if name not in collection.documents:
        raise CorpusError(f"{where}: document {name} is not in the corpus")
    source = collection.sources[name]
    found = source.locate(span.get("start"), span.get("end"), where)
    if span.get("text") is not None:
        source.check(found, span["text"], where)
    return place(item_id, [collection.documents[name]], source.text, *found, where=where)


def _whole_document(item_id: str, document: Document) -> Reference:
    if not document.text:
        return Reference(item_id, {}, f"empty_document: {document.doc_id}")
    return Reference(item_id, {document.doc_id: ((0, len(document.text)),)})
