"""Documents for the chunking tests: plain ones with countable sentences, and ones made of what broke other chunkers."""

from dataclasses import dataclass

from hypothesis import strategies as st

from docstructure.chunking.ruler import measure
from docstructure.chunking.sections import segments

SEPARATOR = "\n\n"

NASTY = (
    "This is important.",
    "This is important. ",
    "unaffable",
    "中文没有空格的文本。然后继续！",
    "👩\u200d👩\u200d👧\u200d👦",
    "“Smart” quotes — don’t break.",
    "a\u00a0b\tc",
    "e\u0301clair cafe\u0301s",
    "한국어 문장입니다.",
    "pneumonoultramicroscopicsilicovolcanoconiosis" * 2,
    "x" * 130,
    "zero\u200bwidth soft\u00adhyphen",
    "\u200b",
    "next\u0085line",
    "word.Word",
    "# no heading",
    "```\n# code\n\n\n```",
    "Ünïcödé İstanbul straße.",
    "Hello",
    "e.g. Dr. Who said so?",
    "1,234.5",
)


@dataclass(frozen=True)
class Case:
    text: str
    paragraphs: list
    levels: list
    paths: list
    spans: list

    def ruler(self, tokenizer):
        return next(measure([self.text], [self.paragraphs], tokenizer, "en"))

    def segments(self):
        return segments(self.levels, self.paths, self.spans)


def assemble(sections):
    """Make a case from (path, paragraphs) pairs; paths are absolute, level is depth (1 for the preamble)."""
    paragraphs, bounds, position = [], [], 0
    for path, own in sections:
        first = len(paragraphs)
        for paragraph in own:
            paragraphs.append((position, position + len(paragraph)))
            position += len(paragraph) + len(SEPARATOR)
        bounds.append((path, first))
    text = SEPARATOR.join(paragraph for _, own in sections for paragraph in own)
    starts = [paragraphs[first][0] for _, first in bounds]
    spans = list(zip(starts, [*starts[1:], len(text)], strict=True))
    return Case(
        text, paragraphs, [max(1, min(4, len(path))) for path, _ in bounds], [list(p) for p, _ in bounds], spans
    )


def sentence(n):
    """A sentence of exactly n tokens, n >= 2 (the full stop is one)."""
    return "The" + " cat" * (n - 2) + "."


def words(n, rest="cat"):
    return " ".join([rest] * n)


paths = st.lists(st.sampled_from("ABC"), min_size=1, max_size=3).map(tuple)

nasty_paragraphs = (
    st.lists(st.sampled_from(NASTY), min_size=1, max_size=12).map(" ".join) | st.sampled_from(NASTY) | st.just("")
)

nasty_cases = (
    st.lists(st.tuples(paths, st.lists(nasty_paragraphs, min_size=1, max_size=4)), min_size=1, max_size=6)
    .map(assemble)
    .filter(lambda case: case.text and all(a < b for a, b in case.spans))
)

plain_paragraphs = st.lists(st.integers(2, 12).map(sentence), min_size=1, max_size=4).map(" ".join)

plain_cases = st.lists(
    st.tuples(paths, st.lists(plain_paragraphs, min_size=1, max_size=2)), min_size=1, max_size=6
).map(assemble)
