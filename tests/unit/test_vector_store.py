"""Run: pytest tests/unit/test_vector_store.py. The store: resumes, never trusts, never changes bytes."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.embedding import embed
from docstructure.vector_store import SUFFIX, Segment, SegmentError, VectorStore

WIDTH = 5
IDENTITY = {"model": "hash@1", "dtype": "float32"}
LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts"


def vector(text: str) -> np.ndarray:
    digest = hashlib.sha512(text.encode()).digest()
    return np.frombuffer(digest[: 2 * WIDTH], dtype=np.uint16).astype(np.float32) / 7


class HashEmbedder:
    """An embedder without a model; it remembers what it was asked for."""

    name, width, max_length, identity = "hash", WIDTH, 10, IDENTITY

    def __init__(self, rows: int = 4) -> None:
        self.rows, self.seen = rows, []

    def encode(self, texts):
        for at in range(0, len(texts), self.rows):
            part = texts[at : at + self.rows]
            self.seen += part
            yield SimpleNamespace(
                texts=np.arange(at, at + len(part)),
                n_tokens=np.array([len(text) for text in part], dtype=np.int32),
                vectors=np.array([vector(text) for text in part]),
                done=(at + len(part)) / len(texts),
            )


def expected(texts):
    return np.array([vector(text) for text in texts]).reshape(-1, WIDTH)


def segments(store) -> list[Path]:
    return sorted(Path(store).rglob(f"*{SUFFIX}"))


TEXTS = [f"text {i}" for i in range(30)]


def test_equal_texts_are_embedded_once_and_stored_ones_never(tmp_path):
    first, second = HashEmbedder(), HashEmbedder()
    vectors, report = embed([*TEXTS, *TEXTS[::-1]], first, str(tmp_path))
    assert np.array_equal(vectors, expected([*TEXTS, *TEXTS[::-1]]))
    assert first.seen == TEXTS
    assert (report.texts, report.distinct, report.stored, report.embedded) == (60, 30, 0, 30)
    more = ["new", *TEXTS[5:9], "new", "longer than ten"]
    vectors, report = embed(more, second, str(tmp_path))
    assert np.array_equal(vectors, expected(more))
    assert second.seen == ["new", "longer than ten"]
    assert report.over_limit.tolist() == [6]
    assert embed(more, second, str(tmp_path))[1].over_limit.tolist() == [6], "token counts come from the store too"


@given(st.lists(st.text(max_size=6), max_size=25), st.lists(st.text(max_size=6), max_size=25))
@settings(max_examples=20, deadline=None)
def test_any_texts_get_their_own_vectors(tmp_path_factory, first, second):
    store = str(tmp_path_factory.mktemp("store"))
    for texts in (first, second, first + second):
        assert np.array_equal(embed(texts, HashEmbedder(), store)[0], expected(texts))


def test_another_identity_shares_nothing(tmp_path):
    embed(TEXTS, HashEmbedder(), str(tmp_path))
    other = HashEmbedder()
    other.identity = {**IDENTITY, "dtype": "bfloat16"}
    assert embed(TEXTS, other, str(tmp_path))[1].stored == 0
    a, b = (VectorStore(tmp_path, identity, WIDTH) for identity in (IDENTITY, other.identity))
    assert not set(a.keys(TEXTS)) & set(b.keys(TEXTS))


def test_nothing_is_written_for_nothing(tmp_path):
    vectors, report = embed([], HashEmbedder(), str(tmp_path / "store"))
    assert vectors.shape == (0, WIDTH)
    assert report.texts == 0
    assert not (tmp_path / "store").exists()


def test_a_slow_job_leaves_one_segment(tmp_path):
    embed(TEXTS, HashEmbedder(), str(tmp_path), flush_seconds=0)
    assert len(segments(tmp_path)) == 1
    assert embed(TEXTS, HashEmbedder(), str(tmp_path))[1].stored == 30


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_or_cut_segment_is_never_read(data):
    texts = TEXTS[:3]
    packed = Segment([bytes([i]) * 16 for i in range(3)], np.arange(3, dtype=np.int32), expected(texts)).pack()
    assert np.array_equal(Segment.unpack(packed, WIDTH).vectors, expected(texts))
    at = data.draw(st.integers(0, len(packed) - 1))
    flip = data.draw(st.integers(1, 255))
    for bad in (packed[:at], packed[:at] + bytes([packed[at] ^ flip]) + packed[at + 1 :], packed + b"\0"):
        with pytest.raises(SegmentError):
            Segment.unpack(bad, WIDTH)


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "other"])
def test_a_damaged_segment_is_reported_and_its_texts_are_embedded_again(tmp_path, capsys, damage):
    embed(TEXTS[:20], HashEmbedder(), str(tmp_path))
    (bad,) = segments(tmp_path)
    embed(TEXTS[20:], HashEmbedder(), str(tmp_path))
    content = bad.read_bytes()
    flipped = bytearray(content)
    flipped[-3] ^= 64
    bad.write_bytes({"flipped": flipped, "truncated": content[:-9], "empty": b"", "other": b"PK\3\4" * 99}[damage])
    embedder = HashEmbedder()
    capsys.readouterr()
    assert np.array_equal(embed(TEXTS, embedder, str(tmp_path))[0], expected(TEXTS))
    assert embedder.seen == TEXTS[:20]
    said = capsys.readouterr().err
    assert str(bad) in said
    assert "ignored" in said
    assert embed(TEXTS, HashEmbedder(), str(tmp_path))[1].stored == 30, "what was embedded again is stored again"


def test_an_error_keeps_what_was_embedded(tmp_path):
    class Failing(HashEmbedder):
        def encode(self, texts):
            yield next(super().encode(texts))
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        embed(TEXTS, Failing(), str(tmp_path))
    again = HashEmbedder()
    assert np.array_equal(embed(TEXTS, again, str(tmp_path))[0], expected(TEXTS))
    assert again.seen == TEXTS[4:]


CHILD = """
import os, signal, sys, time
from pathlib import Path
sys.path[:0] = [{library!r}, {tests!r}]
from docstructure.embedding import embed
from test_vector_store import HashEmbedder, expected
import numpy as np
{setup}
texts = {texts!r}
vectors, report = embed(texts, HashEmbedder(), {store!r}, flush_seconds=0)
print(np.array_equal(vectors, expected(texts)), report.stored)
"""

KILLED_IN_THIRD_FLUSH = """
moves, move = [], Path.replace
def replace(self, target):
    moves.append(target)
    if sum(str(path).endswith(".segment") for path in moves) == 3:
        os.truncate(self, self.stat().st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)
    return move(self, target)
Path.replace = replace
"""


SLOW = """
HashEmbedder.quick = HashEmbedder.encode
HashEmbedder.encode = lambda self, texts: (time.sleep(0.01) or batch for batch in self.quick(texts))
"""


def child(store, texts, setup="") -> subprocess.Popen:
    code = CHILD.format(
        library=str(LIBRARY), tests=str(Path(__file__).parent), setup=setup, texts=texts, store=str(store)
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_in_the_middle_of_a_flush_it_resumes(tmp_path):
    killed = child(tmp_path, TEXTS, KILLED_IN_THIRD_FLUSH)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert list(tmp_path.rglob("*.partial")), "the half-written flush is there"
    embedder = HashEmbedder()
    vectors, report = embed(TEXTS, embedder, str(tmp_path))
    assert np.array_equal(vectors, expected(TEXTS))
    assert embedder.seen == TEXTS[8:], "two flushes of four texts were kept"
    assert (report.stored, report.embedded) == (8, 22)


def test_two_jobs_at_once_on_one_store(tmp_path):
    many = [f"text {i}" for i in range(200)]
    jobs = [child(tmp_path, many[:150], SLOW), child(tmp_path, many[50:][::-1], SLOW)]
    while any(job.poll() is None for job in jobs):  # a third job reads while segments come and are joined
        assert np.array_equal(embed(many[:60], HashEmbedder(), str(tmp_path))[0], expected(many[:60]))
    for job in jobs:
        out, err = job.communicate(timeout=60)
        assert out.startswith("True"), err
        assert not err
    vectors, report = embed(many, HashEmbedder(), str(tmp_path))
    assert np.array_equal(vectors, expected(many))
    assert report.stored == 200


def test_the_store_may_be_deleted_under_a_job(tmp_path):
    store = VectorStore(tmp_path / "store", IDENTITY, WIDTH)
    with store:
        for text in TEXTS[:3]:
            store.add(store.keys([text]), np.ones(1, dtype=np.int32), expected([text]))
            store.flush()
            for path in segments(tmp_path):
                path.unlink()
            store.folder.rmdir() if not any(store.folder.iterdir()) else None
    assert embed(TEXTS[:3], HashEmbedder(), str(tmp_path / "store"))[1].stored == 0


def test_wrong_shapes_are_refused(tmp_path):
    store = VectorStore(tmp_path, IDENTITY, WIDTH)
    with pytest.raises(ValueError, match="expected width 5"):
        store.add(store.keys(["a"]), np.ones(1, dtype=np.int32), np.zeros((1, 4), dtype=np.float32))
