"""Words of a text in any script, for what compares words: the leakage filter and BM25 (paper F, I).

On ASCII text these are the words of rouge_score's default tokenizer: runs of letters and digits, lower-cased, without
stemming. Beyond ASCII that tokenizer sees no word at all; here letters, digits and combining marks of every script make
words, after NFKC and case folding, and scripts written without spaces (Han, kana, Thai, Lao, Khmer, Burmese, Tibetan)
give one word per letter, their marks left out. Format characters (soft hyphen, joiners) neither make nor part words.
"""

from __future__ import annotations

import re
import unicodedata

_ASCII = re.compile(r"[a-z0-9]+")

# blocks of scripts without spaces between words, half-open
_UNSPACED = (
    range(0x0E00, 0x1000),  # Thai, Lao, Tibetan
    range(0x1000, 0x10A0),  # Burmese
    range(0x1780, 0x1800),  # Khmer
    range(0x2E80, 0x2FE0),  # Han radicals
    range(0x3005, 0x3008),  # Han iteration marks and zero
    range(0x3040, 0x3100),  # kana
    range(0x31F0, 0x3200),
    range(0x3400, 0x4DC0),  # Han
    range(0x4E00, 0xA000),
    range(0xA9E0, 0xAA00),  # Burmese
    range(0xAA60, 0xAA80),
    range(0xF900, 0xFB00),  # Han
    range(0x1AFF0, 0x1B170),  # kana
    range(0x20000, 0x40000),  # Han
)


class _Table(dict[int, str]):
    """What each character becomes: itself, a word of its own, nothing, or a space; found out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        unspaced = any(code in block for block in _UNSPACED)
        if category == "Cf" or (unspaced and category[0] == "M"):
            value = ""
        elif category[0] in "LNM":
            value = f" {character} " if unspaced else character
        else:
            value = " "
        self[code] = value
        return value


_TABLE = _Table()


def words(text: str) -> list[str]:
    """Return the words of a text, folded, in order."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    found = folded.translate(_TABLE).split()
    # marks that follow no letter (an emoji's variation selector) are no word
    return [word for word in found if word.isalnum() or any(map(str.isalnum, word))]
