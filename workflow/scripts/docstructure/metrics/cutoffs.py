"""Where a metric stops reading a ranking, and how that is written in its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

_WHOLE_NUMBER = re.compile(r"[1-9][0-9]*")


@dataclass(frozen=True)
class Ranks:
    """After k ranks: ``@10``."""

    k: int
    form: ClassVar[str] = "@k"

    def __post_init__(self) -> None:
        _check_whole("k", self.k)

    def __str__(self) -> str:
        return f"@{self.k}"

    @classmethod
    def parse(cls, text: str) -> Ranks:
        """Read ``@10``."""
        if not text.startswith("@") or not _WHOLE_NUMBER.fullmatch(text[1:]):
            raise ValueError("it ends in @k, with k a whole number of ranks from 1 (no leading zero)")
        return cls(int(text[1:]))


@dataclass(frozen=True)
class TokenBudget:
    """Before the chunk that would bring prefix + content over a budget of tokens: ``@512t``."""

    tokens: int
    form: ClassVar[str] = "@Bt"

    def __post_init__(self) -> None:
        _check_whole("tokens", self.tokens)

    def __str__(self) -> str:
        return f"@{self.tokens}t"

    @classmethod
    def parse(cls, text: str) -> TokenBudget:
        """Read ``@512t``."""
        if not (text.startswith("@") and text.endswith("t") and _WHOLE_NUMBER.fullmatch(text[1:-1])):
            raise ValueError("it ends in @Bt, with B a whole number of tokens from 1 (no leading zero)")
        return cls(int(text[1:-1]))


@dataclass(frozen=True)
class WholeRanking:
    """At the end of the ranking: nothing is written."""

    form: ClassVar[str] = ""

    def __str__(self) -> str:
        return ""

    @classmethod
    def parse(cls, text: str) -> WholeRanking:
        """Read nothing."""
        if text:
            raise ValueError("it reads the whole ranking and takes no cutoff")
        return cls()


Cutoff = Ranks | TokenBudget | WholeRanking


def _check_whole(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; allowed are whole numbers from 1")
