"""Docling: a folder of DoclingDocument JSON files, read as plain JSON, and questions as the Markdown builder has them.

The body's tree is walked in reading order. Section headers are headings at their level; paragraphs, list items, code,
formulas, captions and footnotes are one paragraph each, kept to the character; a table is one paragraph of its rows; an
inline group is one paragraph. Page headers and footers, and whatever is not in the body's layer, are furniture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from docstructure.corpora.corpus import Block, Corpus, CorpusError, Document, Heading, Item, Paragraph, assemble
from docstructure.corpora.markdown import read_questions
from docstructure.corpora.source import identifier, read_json

SCHEMA = "DoclingDocument"
ROOTS = ("texts", "groups", "tables", "pictures", "key_value_items", "form_items", "field_regions", "field_items")
FURNITURE = frozenset({"page_header", "page_footer"})
FORMS = frozenset({"key_value_items", "form_items", "field_regions", "field_items"})
TABLES = frozenset({"table", "document_index"})
CELL, ROW = " | ", "\n"
SHOWN = 20


@dataclass(frozen=True)
class Options:
    """Options of the Docling builder.

    Parameters
    ----------
    folder
        Folder of the corpus.
    articles
        Glob of the JSON files, relative to `folder`; a document's id is its path without the suffix.
    questions
        Questions file, relative to `folder`; ``start`` and ``end`` count characters of a document's text. Null for a
        corpus without questions.
    tables
        Whether tables are in the text.
    captions
        Whether captions (of tables and pictures) are in the text.
    licence
        Licence of the documents.
    """

    folder: str
    articles: str = "**/*.json"
    questions: str | None = "questions.jsonl"
    tables: bool = True
    captions: bool = True
    licence: str = ""

    def __post_init__(self) -> None:
        if not self.articles or self.articles.startswith("/") or ".." in PurePosixPath(self.articles).parts:
            raise ValueError(f"articles: {self.articles!r} must be a glob inside the folder")


def build(options: Options) -> Corpus:
    """Read the documents and the questions.

    Raises
    ------
    CorpusError
        If a file is missing, is no DoclingDocument or refers to what it does not hold, or a question's evidence is not
        found; the message names the file and the item.
    """
    folder = Path(options.folder)
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder")
    paths = sorted((path for path in folder.glob(options.articles) if path.is_file()), key=lambda path: path.as_posix())
    if not paths:
        raise CorpusError(f"{folder}: the corpus is empty: no file matches {options.articles}")
    documents: dict[str, Document] = {}
    blocks: list[Item] = []
    for path in paths:
        name = path.relative_to(folder).with_suffix("").as_posix()
        document, items = _read_document(path, identifier(name), options)
        if document.doc_id in documents:
            raise CorpusError(f"{path}: document id {document.doc_id} occurs twice; rename one file")
        documents[document.doc_id] = document
        blocks += items
    kept = [document for document in documents.values() if document.paragraphs]
    if not kept:
        raise CorpusError(f"{folder}: the corpus is empty: none of its {len(documents)} documents has text")
    items = [Item(name, bool(one.paragraphs), "" if one.paragraphs else "empty") for name, one in documents.items()]
    funnels = {"corpus": items, "blocks": blocks}
    if options.questions is None:
        return Corpus(kept, [], funnels)
    queries, errors = read_questions(folder / options.questions, kept, "text")
    if errors:
        more = [f"… and {len(errors) - SHOWN} more"] if len(errors) > SHOWN else []
        raise CorpusError("\n".join([*errors[:SHOWN], *more]))
    return Corpus(kept, queries, {**funnels, "queries": [Item(query.query_id, True) for query in queries]})


def _read_document(path: Path, doc_id: str, options: Options) -> tuple[Document, list[Item]]:
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema_name") != SCHEMA:
        found = content.get("schema_name") if isinstance(content, dict) else type(content).__name__
        raise CorpusError(f"{path}: no {SCHEMA}: schema_name is {found!r}")
    walk = _Walk(str(path), content, options)
    try:
        blocks = list(walk.blocks())
    except RecursionError:
        raise CorpusError(f"{path}: its items are nested too deeply") from None
    walk.add_orphans()
    title = walk.title or str(content.get("name") or path.stem)
    document = assemble(
        doc_id,
        " ".join(title.split()),
        blocks,
        path=path.relative_to(options.folder).as_posix(),
        revision="sha256:" + hashlib.sha256(path.read_bytes()).hexdigest(),
        licence=options.licence,
    )
    items = [Item(f"{doc_id}{ref}", not reason, reason) for ref, reason in walk.seen.items()]
    return document, items


@dataclass
class _Walk:
    """One reading of a document's body; `seen` holds each item met, once, with the reason why it is not in the text."""

    path: str
    content: Mapping[str, Any]
    options: Options
    title: str = ""
    seen: dict[str, str] = field(default_factory=dict)

    def blocks(self) -> Iterator[Block]:
        """Yield headings and paragraphs in reading order."""
        body = self.content.get("body")
        if not isinstance(body, dict):
            raise CorpusError(f"{self.path}: body is missing")
        yield from self._children(body, "#/body")

    def add_orphans(self) -> None:
        """Record the texts and tables that the body's tree does not reach."""
        for root in ("texts", "tables"):
            rows = self.content.get(root)
            if rows is not None and not isinstance(rows, list):
                raise CorpusError(f"{self.path}: {root} must be a list, not {rows!r}")
            for index in range(len(rows or ())):
                self.seen.setdefault(f"#/{root}/{index}", "not_in_body")

    def _children(self, node: Mapping[str, Any], owner: str) -> Iterator[Block]:
        for ref in self._refs(node, "children", owner):
            yield from self._node(ref, owner)

    def _refs(self, node: Mapping[str, Any], key: str, owner: str) -> list[str]:
        """Return the references listed under `key` (``$ref``; ``cref`` in some exports)."""
        listed = node.get(key) or []
        listed = listed if isinstance(listed, list) else [listed]
        refs = [entry.get("$ref", entry.get("cref")) if isinstance(entry, dict) else None for entry in listed]
        if not all(isinstance(ref, str) for ref in refs):
            raise CorpusError(f"{self.path}, {owner}: {key} must be a list of references")
        return [ref for ref in refs if isinstance(ref, str)]

    def _resolve(self, ref: str, owner: str) -> tuple[str, Mapping[str, Any]]:
        root, _, index = ref.removeprefix("#/").partition("/")
        rows = self.content.get(root)
        if root not in ROOTS or not index.isdecimal() or not isinstance(rows, list) or int(index) >= len(rows):
            raise CorpusError(f"{self.path}, {owner}: refers to {ref}, which is not in the document")
        node = rows[int(index)]
        if not isinstance(node, dict):
            raise CorpusError(f"{self.path}, {ref}: an object is expected, not {node!r}")
        return root, node

    def _node(self, ref: str, owner: str) -> Iterator[Block]:
        if ref in self.seen:
            # A caption is listed by its table and by the body: the first place counts.
            return
        root, node = self._resolve(ref, owner)
        self.seen[ref] = ""
        label, layer = self._mark(ref, node, "label"), self._mark(ref, node, "content_layer") or "body"
        if layer != "body":
            self._leave_out(ref, node, f"layer: {layer}")
        elif label in FURNITURE:
            self._leave_out(ref, node, f"furniture: {label}")
        elif root == "groups":
            yield from self._group(ref, node)
        elif root == "tables" or label in TABLES:
            yield from self._table(ref, node)
        elif root == "pictures":
            yield from self._captions(ref, node)
            self._leave_out(ref, node, "picture")
        elif root in FORMS:
            self._leave_out(ref, node, "form")
        else:
            yield from self._text(ref, node)

    def _mark(self, ref: str, node: Mapping[str, Any], key: str) -> str | None:
        """Return what an item says of itself in one word, if it does."""
        mark = node.get(key)
        if mark is not None and not isinstance(mark, str):
            raise CorpusError(f"{self.path}, {ref}: {key} must be a string, not {mark!r}")
        return mark

    def _leave_out(self, ref: str, node: Mapping[str, Any], reason: str) -> None:
        """Mark an item, and what is under it, as not in the text."""
        self.seen[ref] = reason
        for child in self._refs(node, "children", ref):
            if child not in self.seen:
                self._leave_out(child, self._resolve(child, ref)[1], reason)

    def _group(self, ref: str, node: Mapping[str, Any]) -> Iterator[Block]:
        if node.get("label") == "inline":
            yield Paragraph(self._inline(ref, node))
        else:
            yield from self._children(node, ref)

    def _inline(self, ref: str, node: Mapping[str, Any]) -> str:
        """Return the texts under an inline group, joined by a space as docling's serialisers do."""
        parts = []
        for child in self._refs(node, "children", ref):
            root, item = self._resolve(child, ref)
            if child in self.seen:
                raise CorpusError(f"{self.path}, {ref}: refers to {child}, which has been read before")
            self.seen[child] = ""
            if root == "texts" and self._string(child, item):
                parts.append(self._string(child, item))
            elif root == "groups":
                parts.append(self._inline(child, item))
            else:
                self.seen[child] = "empty" if root == "texts" else "inline_picture"
        return " ".join(part for part in parts if part)

    def _string(self, ref: str, node: Mapping[str, Any]) -> str:
        text = node.get("text") or node.get("orig") or ""
        if not isinstance(text, str):
            raise CorpusError(f"{self.path}, {ref}: text must be a string, not {text!r}")
        return text

    def _text(self, ref: str, node: Mapping[str, Any]) -> Iterator[Block]:
        text, label = self._string(ref, node), node.get("label")
        if not text.strip():
            text = self._formatted(ref, node)
        if label == "caption" and not self.options.captions:
            self.seen[ref] = "caption"
        elif not text.strip():
            self.seen[ref] = "empty"
        elif label == "title" and not self.title:
            self.title = text
        elif label in ("title", "section_header"):
            yield Heading(self._level(ref, node), text)
        else:
            yield Paragraph(text)
        yield from self._captions(ref, node)
        yield from self._children(node, ref)

    def _formatted(self, ref: str, node: Mapping[str, Any]) -> str:
        """Return the text of an item that is written as the inline group under it."""
        children = self._refs(node, "children", ref)
        if not children or children[0] in self.seen:
            return ""
        root, first = self._resolve(children[0], ref)
        if root != "groups" or first.get("label") != "inline":
            return ""
        self.seen[children[0]] = ""
        return self._inline(children[0], first)

    def _level(self, ref: str, node: Mapping[str, Any]) -> int:
        """Return a heading's rank: its level; a second title of the document stands above all levels."""
        if node.get("label") == "title":
            return 0
        level = node.get("level", 1)
        if not isinstance(level, int) or isinstance(level, bool) or level < 1:
            raise CorpusError(f"{self.path}, {ref}: level must be a whole number from 1, not {level!r}")
        return level

    def _captions(self, ref: str, node: Mapping[str, Any]) -> Iterator[Block]:
        for key in ("captions", "footnotes"):
            for child in self._refs(node, key, ref):
                yield from self._node(child, ref)

    def _table(self, ref: str, node: Mapping[str, Any]) -> Iterator[Block]:
        yield from self._captions(ref, node)
        text = self._rows(ref, node) if self.options.tables else ""
        if not self.options.tables:
            self._leave_out(ref, node, "table")
        elif text.strip():
            yield Paragraph(text)
        else:
            self.seen[ref] = "empty"
        # Cells with rich content have items of their own, whose text the cell already has.
        for child in self._refs(node, "children", ref):
            if child not in self.seen:
                self._leave_out(child, self._resolve(child, ref)[1], "in_table")

    def _rows(self, ref: str, node: Mapping[str, Any]) -> str:
        """Return a table's rows as lines; a cell over several rows or columns stands once, where it begins."""
        data = node.get("data")
        cells = data.get("table_cells") if isinstance(data, dict) else None
        if not isinstance(cells, list):
            raise CorpusError(f"{self.path}, {ref}: data.table_cells is missing")
        rows: dict[int, dict[int, str]] = {}
        width = 0
        for number, cell in enumerate(cells):
            where = f"{self.path}, {ref}, cell {number}"
            if not isinstance(cell, dict) or not isinstance(cell.get("text"), str):
                raise CorpusError(f"{where}: text is missing")
            row, column = cell.get("start_row_offset_idx"), cell.get("start_col_offset_idx")
            if not isinstance(row, int) or not isinstance(column, int) or row < 0 or column < 0:
                raise CorpusError(
                    f"{where}: start_row_offset_idx and start_col_offset_idx must be whole numbers from 0"
                )
            # A table model may put two cells in one place: neither's text is lost.
            words = [*rows.setdefault(row, {}).get(column, "").split(), *cell["text"].split()]
            rows[row][column] = " ".join(words)
            width = max(width, column + 1)
        lines = (CELL.join(rows[row].get(column, "") for column in range(width)).rstrip() for row in sorted(rows))
        return ROW.join(line for line in lines if line.replace("|", "").strip())
