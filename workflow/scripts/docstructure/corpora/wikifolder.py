"""Pages from a folder of ``.wikitext`` files, with an optional ``index.csv`` of titles and revisions."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docstructure.corpora.corpus import CorpusError, Item
from docstructure.corpora.wikipage import RawPage


@dataclass(frozen=True)
class Options:
    """Options of the ``folder`` source.

    Parameters
    ----------
    path
        Folder with ``*.wikitext`` files (UTF-8). Columns of its ``index.csv``, where there is one: ``file``, ``title``
        and, optionally, ``revision``. A file without a row has its name as its title.
    """

    path: str

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("wikipedia source folder: path is empty; name a folder of .wikitext files")


class FolderSource:
    """The pages of a folder."""

    ordered = False

    def __init__(self, options: Options) -> None:
        self._folder = Path(options.path)
        if not self._folder.is_dir():
            raise CorpusError(f"wikipedia source folder: {self._folder} is not a folder")
        rows = self._index()
        self._pages: dict[str, tuple[Path, str]] = {}
        for file in sorted(self._folder.glob("*.wikitext")):
            title, revision = rows.pop(file.name, (file.stem.replace("_", " "), ""))
            if title in self._pages:
                raise CorpusError(f"{file}: the title {title!r} is also that of {self._pages[title][0].name}")
            self._pages[title] = (file, revision)
        if rows:
            raise CorpusError(f"{self._folder / 'index.csv'}: file {next(iter(rows))} is not in the folder")
        if not self._pages:
            raise CorpusError(f"wikipedia source folder: {self._folder} holds no .wikitext file")

    def _index(self) -> dict[str, tuple[str, str]]:
        path = self._folder / "index.csv"
        if not path.is_file():
            return {}
        try:
            with path.open(encoding="utf-8-sig", newline="") as lines:
                reader = csv.DictReader(lines)
                missing = [name for name in ("file", "title") if name not in (reader.fieldnames or ())]
                if missing:
                    raise CorpusError(f"{path}: column {', '.join(missing)} is missing")
                return {row["file"]: (row["title"], row.get("revision") or "") for row in reader}
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None

    def titles(self) -> Sequence[str]:
        """Return the titles of all pages."""
        return list(self._pages)

    def pages(self, titles: Sequence[str]) -> Iterator[RawPage]:
        """Yield the pages of these titles, in their order."""
        for title in titles:
            file, revision = self._pages[title]
            try:
                text = file.read_bytes().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise CorpusError(f"{file}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
            yield RawPage(title, title, text, revision, file.name)

    def items(self) -> Sequence[Item]:
        """Return what the funnel says of the source."""
        return [Item("listed", kept=True, reason=f"{len(self._pages)} files")]

    def finish(self) -> None:
        """Do nothing; a folder is its own record."""


def open_source(options: Options) -> FolderSource:
    """Open the source."""
    return FolderSource(options)
