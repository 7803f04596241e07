"""The study's one tokenizer: it counts tokens and says where they are; it never rebuilds text (paper 3.2, E.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from docstructure.models import ModelError, locate

if TYPE_CHECKING:
    from tokenizers import Tokenizer as FastTokenizer


@dataclass(frozen=True)
class Tokens:
    """The tokens of one text.

    Parameters
    ----------
    starts, ends
        Character offsets of each token, in order, half-open.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def count(self, start: int, end: int) -> int:
        """Return how many tokens begin in the character span ``[start, end)``."""
        low, high = np.searchsorted(self.starts, (start, end), side="left")
        return int(high - low)


class Tokenizer:
    """Counts and locates tokens, without special tokens, truncation or padding.

    Packaged tokenizers truncate and pad by default (all-MiniLM-L6-v2's to 128), which would make every longer text
    count as 128 tokens; both are switched off here.
    """

    def __init__(self, fast: FastTokenizer, identity: str) -> None:
        fast.no_truncation()
        fast.no_padding()
        self._fast = fast
        self.identity = identity

    def counts(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Return the number of tokens of each text."""
        encodings = self._fast.encode_batch_fast(list(texts), add_special_tokens=False)
        return np.fromiter((len(encoding) for encoding in encodings), dtype=np.int32, count=len(encodings))

    def count(self, text: str) -> int:
        """Return the number of tokens of one text."""
        return int(self.counts([text])[0])

    def locate(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text with their character offsets (code points)."""
        located = []
        for encoding in self._fast.encode_batch(list(texts), add_special_tokens=False):
            pairs = encoding.offsets
            offsets = np.fromiter(chain.from_iterable(pairs), dtype=np.int64, count=2 * len(pairs)).reshape(-1, 2)
            located.append(Tokens(offsets[:, 0], offsets[:, 1]))
        return located

    def head(self, text: str, limit: int) -> str:
        """Return the longest beginning of `text` that has at most `limit` tokens.

        It ends with a word where the first word fits, else with a token. The text itself is returned where it fits.
        """
        tokens = self.locate([text])[0]
        if len(tokens) <= limit:
            return text
        ends = [int(end) for end in tokens.ends[: max(0, limit)]]
        words = [end for end in ends if text[end : end + 1].isspace()]
        for end in [*words[::-1], *ends[::-1]]:
            # a word that is cut may count differently than it did whole
            if self.count(text[:end]) <= limit:
                return text[:end]
        return ""


def load_tokenizer(spec: Mapping[str, Any]) -> Tokenizer:
    """Load the study's tokenizer from a model's ``tokenizer.json``.

    Parameters
    ----------
    spec
        A model, as `docstructure.models.locate` takes it.
    """
    from tokenizers import Tokenizer as FastTokenizer

    model = locate(spec)
    file = model.folder / "tokenizer.json"
    if not file.is_file():
        raise ModelError(f"{model.name} has no tokenizer.json in {model.folder}")
    return Tokenizer(FastTokenizer.from_file(str(file)), model.identity)
