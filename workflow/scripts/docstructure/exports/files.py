"""Files that are whole or absent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to; it takes the name of `path` when the block ends well, and is removed when not."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_lines(frame: pl.DataFrame, path: str | os.PathLike[str], separator: str, *, header: bool = False) -> None:
    """Write a frame as lines of its values, unquoted.

    Raises
    ------
    ValueError
        If a text holds the separator or a line break, which no reader could tell from a new field.
    """
    for name, dtype in frame.schema.items():
        if dtype == pl.String:
            bad = frame.filter(pl.col(name).str.contains(rf"[{separator}\r\n]"))
            if bad.height:
                raise ValueError(f"{os.fspath(path)}: {name} {bad[name][0]!r} holds the separator or a line break")
    with replacing(path) as partial:
        frame.write_csv(partial, separator=separator, include_header=header, quote_style="never")


def write_with(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Write a file by a function that takes its path."""
    with replacing(path) as partial:
        write(partial)
