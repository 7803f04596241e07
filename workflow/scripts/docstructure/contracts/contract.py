"""What a contract is: columns, a key and row rules of one parquet artifact, checked when it is read and written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

COMPRESSION_LEVEL = 3
ROWS_PER_GROUP = 64 * 1024

SPAN = pl.Struct({"start": pl.Int64, "end": pl.Int64})


class ContractError(ValueError):
    """An artifact does not have the columns, types or rows that its contract promises."""


@dataclass(frozen=True)
class Column:
    """One column: its type, whether it may be null, and what it holds (with its unit)."""

    name: str
    dtype: pl.DataType | type[pl.Array]
    doc: str
    nullable: bool = False

    def admits(self, dtype: pl.DataType) -> bool:
        """Return whether `dtype` is this column's type (an array of any width where no width is promised)."""
        if self.dtype is pl.Array:
            return isinstance(dtype, pl.Array) and dtype.inner == pl.Float32
        return dtype == self.dtype


@dataclass(frozen=True)
class Rule:
    """A property of every row: an expression that is true where the row is fine, and what to say where it is not."""

    expr: pl.Expr
    says: str


@dataclass(frozen=True)
class Contract:
    """Columns, key and rules of one artifact.

    Parameters
    ----------
    name
        The artifact, as in the paths: ``documents``, ``chunks`` ...
    columns
        In the order in which they are stored.
    key
        Columns that together identify a row.
    rules
        Properties of every row.
    extra
        Type of further columns that an artifact may have (one score column per metric), or None for a closed list.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    extra: pl.DataType | None = None
    _names: tuple[str, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", tuple(column.name for column in self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the promised columns, in order."""
        return self._names

    def check(self, frame: pl.DataFrame, source: str | os.PathLike[str]) -> pl.DataFrame:
        """Return `frame` with the promised columns in the promised order.

        Raises
        ------
        ContractError
            If a column is missing, unpromised, of another type or null where it may not be; if a key repeats; or if
            a row breaks a rule. The message names the file, the column and the first bad row.
        """
        where = f"{os.fspath(source)} ({self.name})"
        missing = [name for name in self._names if name not in frame.columns]
        if missing:
            raise ContractError(f"{where}: column {', '.join(missing)} is missing; it has {', '.join(frame.columns)}")
        extra = [name for name in frame.columns if name not in self._names]
        if extra and self.extra is None:
            raise ContractError(f"{where}: column {', '.join(extra)} is not part of this artifact")
        frame = frame.select(*self._names, *extra)
        for column in self.columns:
            dtype = frame.schema[column.name]
            if not column.admits(dtype):
                raise ContractError(f"{where}: column {column.name} has type {dtype}, expected {column.dtype}")
            if not column.nullable and frame[column.name].null_count():
                self._fail(frame, where, frame[column.name].is_null(), f"column {column.name} is null")
        for name in extra:
            if frame.schema[name] != self.extra:
                raise ContractError(f"{where}: column {name} has type {frame.schema[name]}, expected {self.extra}")
        if self.key and frame.height:
            repeated = frame.select(pl.struct(self.key).is_duplicated()).to_series()
            if repeated.any():
                self._fail(frame, where, repeated, f"column {', '.join(self.key)} repeats")
        for rule in self.rules:
            good = frame.select(rule.expr.fill_null(value=False)).to_series()
            if not good.all():
                self._fail(frame, where, ~good, rule.says)
        return frame

    def _fail(self, frame: pl.DataFrame, where: str, bad: pl.Series, says: str) -> None:
        index = int(bad.arg_true()[0])
        row = {name: _short(value) for name, value in frame.row(index, named=True).items()}
        raise ContractError(f"{where}: row {index}: {says}: {row} ({int(bad.sum())} such rows)")

    def read(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the artifact; with `columns`, read those only (types are checked, rules are not)."""
        if not Path(path).is_file():
            raise ContractError(f"{os.fspath(path)} ({self.name}): no such file")
        if columns is None:
            return self.check(self._load(path), path)
        frame = self._load(path, list(columns))
        for column in self.columns:
            if column.name in frame.columns and not column.admits(frame.schema[column.name]):
                raise ContractError(
                    f"{os.fspath(path)} ({self.name}): column {column.name} has type {frame.schema[column.name]}, "
                    f"expected {column.dtype}"
                )
        return frame

    def _load(self, path: str | os.PathLike[str], columns: list[str] | None = None) -> pl.DataFrame:
        try:
            return pl.read_parquet(Path(path), columns=columns)
        except pl.exceptions.ColumnNotFoundError as error:
            raise ContractError(f"{os.fspath(path)} ({self.name}): it lacks the column {error}") from None
        except pl.exceptions.ComputeError as error:
            raise ContractError(f"{os.fspath(path)} ({self.name}): it cannot be read as parquet: {error}") from None

    def write(self, frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
        """Check `frame` and write it atomically: the path holds the whole artifact or what it held before."""
        frame = self.check(frame, path)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            frame.rechunk().write_parquet(
                partial, compression="zstd", compression_level=COMPRESSION_LEVEL, row_group_size=ROWS_PER_GROUP
            )
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    def frame(self, rows: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> pl.DataFrame:
        """Make a frame with this contract's types from rows or from columns."""
        schema = {column.name: column.dtype for column in self.columns}
        return pl.DataFrame(rows, schema=schema, orient="row" if not isinstance(rows, Mapping) else None)


def _short(value: object, limit: int = 80) -> object:
    """Cut long values, so that a message stays a line."""
    text = repr(value)
    return value if len(text) <= limit else text[:limit] + "…"
