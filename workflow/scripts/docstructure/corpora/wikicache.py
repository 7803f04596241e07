"""Pages of a MediaWiki API on disk, by title and by revision, and the manifest that pins a walk over them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docstructure.corpora.corpus import CorpusError

_COLUMNS = ("asked", "title", "revision", "problem", "categories")


@dataclass(frozen=True)
class Record:
    """What is known of a candidate: where its title leads; `complete` once its categories are known too."""

    asked: str
    title: str
    revision: str = ""
    problem: str = ""
    categories: tuple[str, ...] = ()
    complete: bool = True


class Cache:
    """Pages on disk: a record per title asked for, the wikitext per revision."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self, asked: str) -> Record | None:
        """Return what is known of a title; None where it was never asked for."""
        path = self._title(asked)
        if not path.is_file():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        return Record(**{**record, "categories": tuple(record["categories"])})

    def has(self, revision: str) -> bool:
        """Return whether the text of a revision is here."""
        return self._revision(revision).is_file()

    def text(self, revision: str) -> str:
        """Return the wikitext of a revision that is here."""
        return self._revision(revision).read_bytes().decode("utf-8", "surrogatepass")

    def keep_text(self, revision: str, text: str) -> None:
        """Write the wikitext of a revision."""
        self.write(self._revision(revision), text)

    def keep_record(self, record: Record) -> None:
        """Write what is known of a title."""
        self.write(self._title(record.asked), json.dumps(record.__dict__, ensure_ascii=False))

    def write(self, path: Path, text: str) -> None:
        """Write a file whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        partial.write_bytes(text.encode("utf-8", "surrogatepass"))
        partial.replace(path)

    def _title(self, asked: str) -> Path:
        return self.folder / "titles" / f"{hashlib.sha256(asked.encode()).hexdigest()[:32]}.json"

    def _revision(self, revision: str) -> Path:
        return self.folder / "revisions" / f"{revision}.wikitext"


def manifest_text(records: Sequence[Record]) -> str:
    """Return a manifest as CSV."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for record in records:
        writer.writerow((record.asked, record.title, record.revision, record.problem, "|".join(record.categories)))
    return lines.getvalue()


def read_manifest(path: str) -> list[Record]:
    """Read a manifest.

    Raises
    ------
    CorpusError
        If there is no such file, it is not UTF-8, or a row has neither revision nor problem; the row is named.
    """
    file = Path(path)
    if not file.is_file():
        raise CorpusError(f"{path}: no such manifest")
    try:
        rows = list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"))))
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 (byte {error.start})") from None
    records: dict[str, Record] = {}
    for number, row in enumerate(rows, start=2):
        if any(row.get(name) is None for name in _COLUMNS):
            raise CorpusError(f"{path}: line {number}: the columns are not {', '.join(_COLUMNS)}")
        revision = row["revision"]
        if row["asked"] in records or not row["asked"] or not (revision.isdigit() if revision else row["problem"]):
            raise CorpusError(f"{path}: line {number}: a title that repeats, or no revision id and no problem: {row}")
        categories = tuple(name for name in row["categories"].split("|") if name)
        records[row["asked"]] = Record(row["asked"], row["title"], revision, row["problem"], categories)
    if not records:
        raise CorpusError(f"{path}: the manifest has no row")
    return list(records.values())
