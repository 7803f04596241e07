"""Exact search: the ranking and the bits of the scores depend on the vectors alone."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from docstructure import search
from docstructure.search import order_pairs, pair_scores, top_k

LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts"


def folded(a, b):
    """Inner product as promised: exact products, the second half added onto the first until one is left."""
    terms = [float(x) * float(y) for x, y in zip(a, b, strict=True)]
    while len(terms) > 1:
        half = (len(terms) + 1) // 2
        terms = [term + (terms[half + i] if half + i < len(terms) else 0.0) for i, term in enumerate(terms[:half])]
    return terms[0]


def brute_force(queries, vectors, k, product=folded):
    rows, scores = [], []
    for query in queries:
        products = [product(query, vector) for vector in vectors]
        best = sorted(range(len(vectors)), key=lambda row: (-products[row], row))[:k]
        rows.append(best)
        scores.append([np.float32(float(products[row])) for row in best])
    return np.array(rows), np.array(scores, np.float32)


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1].view(np.int32), expected[1].view(np.int32))


def unit(array):
    return (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)


def clustered(seed, n, m, d, *, copies=0.3, nudged=0.3):
    """Unit vectors around few centres; some rows are copies of others, some differ from another in one last bit."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((4, d))
    draw = lambda size: unit(centres[rng.integers(0, 4, size)] + 0.2 * rng.standard_normal((size, d)))  # noqa: E731
    queries, vectors = draw(n), draw(m)
    for row in range(1, m):
        kind = rng.random()
        if kind < copies + nudged:
            vectors[row] = vectors[rng.integers(0, row)]
        if copies <= kind < copies + nudged:
            place = rng.integers(0, d)
            vectors[row, place] = np.nextafter(vectors[row, place], np.float32(rng.choice([-2, 2])))
    return queries, vectors[rng.permutation(m)]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 6),
    m=st.integers(1, 60),
    d=st.integers(1, 40),
    k=st.one_of(st.integers(1, 4), st.integers(1, 70)),
    threads=st.integers(1, 3),
    block_rows=st.integers(1, 7),
)
@example(seed=0, n=1, m=1, d=1, k=1, threads=1, block_rows=1)
@example(seed=1, n=3, m=60, d=8, k=1, threads=2, block_rows=2)
def test_ranking_and_score_bits_are_those_of_brute_force(*, seed, n, m, d, k, threads, block_rows):
    queries, vectors = clustered(seed, n, m, d)
    found = top_k(queries, vectors, k, threads=threads, device="cpu", block_rows=block_rows)
    assert_same(found, brute_force(queries, vectors, k))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), m=st.integers(1, 80), d=st.integers(1, 24), k=st.integers(1, 20))
def test_rational_arithmetic_agrees_where_float64_is_exact(seed, m, d, k):
    # Multiples of 2^-11 of the size of unit vectors: many exact ties, and every sum of products is a float64 number.
    rng = np.random.default_rng(seed)
    queries, vectors = ((rng.integers(-4, 5, (size, d)) / 2048).astype(np.float32) for size in (3, m))

    def rational(a, b):
        return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))

    found, expected = top_k(queries, vectors, k, device="cpu"), brute_force(queries, vectors, k, rational)
    assert_same((found[0], found[1] + 0), expected)  # + 0: a fraction has no -0.0


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("block_rows", [1, 7, 64, 1024])
def test_no_bit_depends_on_threads_blocks_or_company(threads, block_rows):
    queries, vectors = clustered(3, 90, 2000, 48)
    expected = top_k(queries, vectors, 20, device="cpu")
    assert_same(top_k(queries, vectors, 20, threads=threads, device="cpu", block_rows=block_rows), expected)
    some = np.array([5, 88, 17])
    alone = top_k(queries[some], vectors, 20, threads=threads, device="cpu", block_rows=block_rows)
    assert_same(alone, (expected[0][some], expected[1][some]))


def test_equal_vectors_tie_exactly_and_stand_by_row():
    queries, vectors = clustered(5, 4, 30, 384, copies=0, nudged=0)
    vectors = np.concatenate([vectors, vectors[::-1], vectors])
    rows, scores = top_k(queries, vectors, 90, device="cpu")
    twins = np.where(rows < 30, rows, np.where(rows < 60, 59 - rows, rows - 60)).reshape(4, 30, 3)
    assert (twins == twins[:, :, :1]).all()
    assert (np.diff(rows.reshape(4, 30, 3)) > 0).all()
    assert (scores.reshape(4, 30, 3) == scores.reshape(4, 30, 3)[:, :, :1]).all()


def test_rows_in_another_order_give_the_same_vectors():
    queries, vectors = clustered(6, 8, 400, 32, copies=0)
    shuffle = np.random.default_rng(0).permutation(400)
    rows, scores = top_k(queries, vectors, 30, device="cpu")
    rows_after, scores_after = top_k(queries, vectors[shuffle], 30, device="cpu")
    np.testing.assert_array_equal(scores, scores_after)
    np.testing.assert_array_equal(vectors[rows], vectors[shuffle][rows_after])


# The error bound, and what it rules out


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 64), exponent=st.integers(-70, 15))
def test_float32_products_stay_inside_the_bound(seed, d, exponent):
    rng = np.random.default_rng(seed)
    queries, vectors = (
        (rng.standard_normal((4, d)) * 2.0 ** rng.integers(exponent, 16, (4, d))).astype(np.float32) for _ in range(2)
    )
    bounds = search._error_bounds(queries, vectors)
    products = queries @ vectors.T
    for i, query in enumerate(queries):
        for j, vector in enumerate(vectors):
            exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(query, vector, strict=True))
            assert abs(Fraction(float(products[i, j])) - exact) <= Fraction(bounds[i])
            assert abs(Fraction(folded(query, vector)) - exact) <= Fraction(bounds[i]) / 2**20


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32), n=st.integers(1, 5), slabs=st.integers(1, 6), width=st.integers(1, 9), data=st.data()
)
def test_everything_within_reach_is_kept(seed, n, slabs, width, data):
    k = data.draw(st.integers(1, width))
    products = np.random.default_rng(seed).integers(-20, 20, (n, slabs, width)).astype(np.float32)
    reach = np.full(n, data.draw(st.sampled_from([0.0, 0.5, 3.0])))
    query, row, product = search._within_reach(products, k, reach)
    kept = set(zip(query.tolist(), row.tolist(), strict=True))
    for i, flat in enumerate(products.reshape(n, -1)):
        floor = np.sort(flat)[-k] - reach[i]
        assert {(i, j) for j in np.flatnonzero(flat >= floor)} <= kept
        np.testing.assert_array_equal(product[query == i], flat[row[query == i]])
    assert (np.diff(query) >= 0).all()


def test_products_of_less_precision_are_refused(monkeypatch):
    def half(a, b, out):
        out[...] = (a.astype(np.float16) @ b.astype(np.float16)).astype(np.float32)

    monkeypatch.setattr(search.np, "matmul", half)
    with pytest.raises(RuntimeError, match="less precise than float32"):
        top_k(*clustered(1, 2, 50, 64), 5, device="cpu")


# Another proposer


def flat_ip(queries, vectors, count):
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index.search(queries, count)


@pytest.fixture
def searched_again(monkeypatch):
    """Queries that each call hands on to the matrix product."""
    seen, plain = [], search._search

    def spy(queries, *args, **kwargs):
        seen.append(len(queries))
        return plain(queries, *args, **kwargs)

    monkeypatch.setattr(search, "_search", spy)
    return seen


def test_faiss_proposes_the_same_ranking(searched_again):
    queries, vectors = clustered(8, 60, 3000, 64, copies=0, nudged=0)
    expected = top_k(queries, vectors, 25, device="cpu")
    searched_again.clear()
    assert_same(top_k(queries, vectors, 25, proposer=flat_ip), expected)
    assert sum(searched_again) == 0  # its margin was safe for every query


@pytest.mark.parametrize("nudged", [0, 1], ids=["copies", "one last bit apart"])
def test_ties_beyond_the_margin_are_searched_again(searched_again, nudged):
    queries, vectors = clustered(9, 6, 40, 64, copies=0, nudged=0)
    near = np.repeat(queries[:1], 3 * search.MARGIN, axis=0)
    for row in range(1, len(near) * nudged):
        near[row, row % 64] = np.nextafter(near[row, row % 64], np.float32(2))
    vectors = np.concatenate([vectors, near])[np.random.default_rng(1).permutation(40 + len(near))]
    expected = brute_force(queries, vectors, 10)
    assert_same(top_k(queries, vectors, 10, proposer=flat_ip), expected)
    assert sum(searched_again) >= 1


def test_a_proposer_of_less_precision_changes_nothing(searched_again):
    def bfloat16(queries, vectors, count):
        short = [(array.view(np.uint32) & 0xFFFF0000).view(np.float32) for array in (queries, vectors)]
        return flat_ip(*short, count)

    queries, vectors = clustered(10, 12, 500, 64, copies=0, nudged=0)
    assert_same(top_k(queries, vectors, 10, proposer=bfloat16), brute_force(queries, vectors, 10))
    assert sum(searched_again) == 12


def test_a_proposer_that_returns_no_row_is_an_error():
    def broken(queries, vectors, count):
        return np.zeros((len(queries), count), np.float32), np.full((len(queries), count), -1)

    with pytest.raises(RuntimeError, match="proposed row -1"):
        top_k(*clustered(1, 2, 50, 8), 5, proposer=broken)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(search, "Path", lambda _: Path("/nowhere"))
    queries, vectors = clustered(1, 2, 50, 8)
    assert_same(top_k(queries, vectors, 5, device="auto"), brute_force(queries, vectors, 5))
    with pytest.raises(ValueError, match="device: cuda needs a GPU"):
        top_k(queries, vectors, 5, device="cuda")


# The one routine of all scores


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 31, 64, 100, 384, 768, 1024])
def test_plain_and_compiled_scores_have_the_same_bits(d):
    assert search._compiled() is not None
    queries, vectors = clustered(d, 5, 300, d)
    query, row = np.repeat(np.arange(5), 160), np.random.default_rng(d).integers(0, 300, 800)
    plain = search._plain_scores(queries, vectors, query, row)
    compiled = search._compiled_scores(queries, vectors, query, row)
    expected = [folded(queries[i], vectors[j]) for i, j in zip(query, row, strict=True)]
    np.testing.assert_array_equal(plain.view(np.int64), compiled.view(np.int64))
    np.testing.assert_array_equal(plain, expected)


def test_large_and_small_searches_agree(monkeypatch):
    queries, vectors = clustered(12, 40, 900, 96)
    small = top_k(queries, vectors, 30, device="cpu")
    monkeypatch.setattr(search, "COMPILED_FROM", 0)
    assert_same(top_k(queries, vectors, 30, device="cpu", threads=2), small)
    monkeypatch.setattr(search, "_compiled", lambda: None)  # numba is not installed
    assert_same(top_k(queries, vectors, 30, device="cpu"), small)


@pytest.mark.parametrize("folder", ["/proc/no", "/dev/null/no"])
def test_a_file_system_that_keeps_nothing_does_not_stop_the_search(folder):
    code = (
        "import numpy as np; from docstructure import search; search.COMPILED_FROM = 0;"
        "a = np.eye(3, dtype=np.float32); found = search.top_k(a, a, 1)[0].ravel();"
        "print(found, search._compiled.cache_info().currsize)"
    )
    env = {**os.environ, "PYTHONPATH": str(LIBRARY), "NUMBA_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["[0", "1", "2]", "1"], done.stderr


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 150), st.integers(0, 9), st.integers(-3, 3)), max_size=200))
def test_pairs_are_ordered_by_query_score_and_row(pairs):
    pairs.sort(key=lambda pair: pair[0])
    query, row, score = np.array(pairs, np.int64).reshape(-1, 3).T
    found = [pairs[i] for i in order_pairs(query, row, score.astype(np.float64))]
    assert found == sorted(pairs, key=lambda pair: (pair[0], -pair[2], pair[1]))


# Edges


def test_more_ranks_than_vectors_gives_all_of_them():
    queries, vectors = clustered(2, 3, 7, 16)
    rows, _ = top_k(queries, vectors, 100)
    assert [sorted(line) for line in rows.tolist()] == [list(range(7))] * 3


def test_no_query_gives_no_rank():
    rows, scores = top_k(np.empty((0, 4), np.float32), np.ones((3, 4), np.float32), 2)
    assert rows.shape == scores.shape == (0, 2)
    assert pair_scores(np.empty((0, 4), np.float32), np.ones((3, 4), np.float32), rows.ravel(), rows.ravel()).size == 0


A = np.ones((3, 4), np.float32)
BAD = np.array([[1, 0, 0, 0], [0, np.nan, 0, 0], [np.inf, 0, 0, 0]], np.float32)


@pytest.mark.parametrize(
    ("queries", "vectors", "arguments", "says"),
    [
        (A, np.empty((0, 4), np.float32), {}, "the index is empty"),
        (A, np.ones((3, 5), np.float32), {}, "queries have 4 dimensions, vectors 5"),
        (np.ones((3, 0), np.float32), np.ones((3, 0), np.float32), {}, "queries have 0 dimensions"),
        (A, BAD, {}, r"vector 1 is not finite \(2 such rows\)"),
        (BAD, A, {}, r"query 1 is not finite \(2 such rows\)"),
        (A, A.astype(np.float64), {}, "vectors must be a float32 matrix; found float64"),
        (A[0], A, {}, "queries must be a float32 matrix"),
        (A, A, {"k": 0}, "must be at least 1; found 0"),
        (A, A, {"threads": 0}, "must be at least 1"),
        (A, A, {"block_rows": 0}, "must be at least 1"),
        (A, A, {"device": "tpu"}, "device: 'tpu' is none of auto, cpu, cuda"),
    ],
)
def test_bad_input_says_what_is_bad(queries, vectors, arguments, says):
    with pytest.raises(ValueError, match=says):
        top_k(queries, vectors, **{"k": 2, **arguments})
