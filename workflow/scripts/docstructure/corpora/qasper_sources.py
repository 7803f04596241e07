"""Where QASPER comes from: v0.3 JSON files, the official archives, or the hub's parquet conversion."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docstructure.corpora.corpus import CorpusError
from docstructure.corpora.download import fetch, sha256_of, verified
from docstructure.corpora.qasper_papers import Paper, parse_paper, record_of_row

SPLIT_MEMBER = re.compile(r"(?!\.)[^/]*(train|dev|test)[^/]*\.json")
OFFICIAL_SIZES = {"train": (888, 2593), "dev": (281, 1005), "test": (416, 1451)}
OFFICIAL_MEMBER = re.compile(r"qasper-(train|dev|test)-v0\.3\.json")
COLUMNS = ("id", "title", "abstract", "full_text", "qas")


@dataclass(frozen=True)
class Source:
    """One file's papers: where they came from (`path`), its checksum or version (`revision`), and what it held."""

    path: str
    revision: str
    papers: tuple[Paper, ...]

    @property
    def n_questions(self) -> int:
        """Questions of all its papers."""
        return sum(len(paper.questions) for paper in self.papers)

    def size_note(self) -> str:
        """Return papers and questions read, beside the official ones where the file bears an official name."""
        note = f"{self.path}: {len(self.papers):,} papers, {self.n_questions:,} questions"
        official = OFFICIAL_MEMBER.fullmatch(self.path.rpartition("/")[2])
        if official:
            n_papers, n_questions = OFFICIAL_SIZES[official[1]]
            same = (n_papers, n_questions) == (len(self.papers), self.n_questions)
            note += f" ({'as' if same else 'NOT as'} published: {n_papers:,} papers, {n_questions:,} questions)"
        return note


def read_files(paths: Sequence[str]) -> Iterator[Source]:
    """Read v0.3-shaped JSON files: ``{arXiv id: paper}``."""
    for path in paths:
        file = Path(path)
        if not file.is_file():
            raise CorpusError(f"{path}: no such file")
        data = file.read_bytes()
        yield Source(path, f"sha256:{hashlib.sha256(data).hexdigest()}", read_json(data, path))


def read_archives(archives: Sequence[Mapping[str, Any]], folder: str, attempts: int) -> Iterator[Source]:
    """Read the splits inside official archives, each a local ``path`` or a ``url``, with its ``sha256``.

    Members are read in memory, in the order of their names; nothing is unpacked.
    """
    for archive in archives:
        if "url" in archive:
            file = fetch(archive["url"], archive["sha256"], Path(folder), attempts=attempts)
        else:
            file = verified(Path(archive["path"]), archive["sha256"])
        name = archive.get("url") or archive["path"]
        members: dict[str, bytes] = {}
        try:
            with tarfile.open(file) as tar:
                for member in tar:
                    if member.isfile() and SPLIT_MEMBER.fullmatch(member.name.rpartition("/")[2]):
                        handle = tar.extractfile(member)
                        members[member.name] = handle.read() if handle else b""
        except (tarfile.TarError, EOFError, OSError) as error:
            raise CorpusError(f"{name}: not a readable tar archive: {error}") from error
        if not members:
            raise CorpusError(f"{name}: no *train*.json, *dev*.json or *test*.json in the archive")
        for member_name, data in sorted(members.items()):
            path = f"{name}/{member_name.removeprefix('./')}"
            yield Source(path, f"sha256:{archive['sha256'].lower()}", read_json(data, path))


def read_json(data: bytes, where: str) -> tuple[Paper, ...]:
    """Read the papers of one JSON file.

    Raises
    ------
    CorpusError
        If it is not UTF-8, not JSON, holds a key twice, or is not ``{arXiv id: paper}``.
    """
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique_keys)
    except UnicodeDecodeError as error:
        raise CorpusError(f"{where}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except ValueError as error:
        raise CorpusError(f"{where}: not JSON of the expected shape: {error}") from None
    except RecursionError:
        raise CorpusError(f"{where}: the JSON is nested too deeply") from None
    if not isinstance(content, dict) or not content:
        raise CorpusError(f"{where}: expected {{arXiv id: paper}} with at least one paper")
    return tuple(parse_paper(paper_id, record, where) for paper_id, record in content.items())


def read_parquet(paths: Sequence[str]) -> Iterator[Source]:
    """Read parquet files of the hub's conversion, one row per paper."""
    import polars as pl

    for path in paths:
        if not Path(path).is_file():
            raise CorpusError(f"{path}: no such file")
        try:
            schema = pl.read_parquet_schema(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise CorpusError(f"{path}: not a readable parquet file: {error}") from error
        missing = [column for column in COLUMNS if column not in schema]
        if missing:
            raise CorpusError(f"{path}: column {', '.join(missing)} is missing; it has {', '.join(schema)}")
        rows = pl.read_parquet(path, columns=list(COLUMNS)).iter_rows(named=True)
        yield Source(path, f"sha256:{sha256_of(Path(path))}", _papers_of_rows(rows, path))


def read_dataset(dataset: Mapping[str, Any]) -> Iterator[Source]:
    """Read every split of a hub dataset, or of a local folder in its layout, through `datasets`.

    `datasets` 4 and later refuses the dataset's own script, so ``revision`` must name its parquet conversion.
    """
    from datasets import load_dataset

    path, revision = dataset["path"], dataset.get("revision")
    try:
        splits = load_dataset(path, name=dataset.get("name"), revision=revision)
    except Exception as error:  # `datasets` raises many kinds; all mean that this source cannot be had.
        raise CorpusError(
            f"dataset {path} (revision {revision}): {type(error).__name__}: {error}; "
            "give `revision: refs/convert/parquet`, or its files as `parquet: [...]`"
        ) from error
    for split, rows in splits.items():
        where = f"{path}/{split}"
        missing = [column for column in COLUMNS if column not in rows.column_names]
        if missing:
            raise CorpusError(f"dataset {where}: column {', '.join(missing)} is missing")
        yield Source(where, revision or "", _papers_of_rows(rows, where))


def merge_sources(sources: Iterable[Source]) -> list[tuple[Source, Paper]]:
    """Merge all splits, in the order of the sources; a paper that several sources hold identically is taken once.

    Raises
    ------
    CorpusError
        If two sources hold different papers under one id.
    """
    first: dict[str, tuple[Source, Paper]] = {}
    for source in sources:
        for paper in source.papers:
            known = first.setdefault(paper.paper_id, (source, paper))
            if known[1] != paper:
                raise CorpusError(
                    f"paper {paper.paper_id} stands in {known[0].path} and in {source.path} with different content; "
                    "leave one of them out"
                )
    return list(first.values())


def _papers_of_rows(rows: Iterable[Mapping[str, Any]], where: str) -> tuple[Paper, ...]:
    papers: dict[str, Paper] = {}
    for row in rows:
        paper_id, record = record_of_row(row, where)
        if paper_id in papers:
            raise CorpusError(f"{where}: paper {paper_id} occurs twice")
        papers[paper_id] = parse_paper(paper_id, record, where)
    if not papers:
        raise CorpusError(f"{where}: no paper in it")
    return tuple(papers.values())


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return record
