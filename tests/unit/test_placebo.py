"""The placebo: minimum of residuals, fair draws, determinism, what the audit recomputes."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from docstructure import placebo
from docstructure.placebo import Pair, PlaceboError, assign_donors, derange, minimum
from docstructure.prefixes import path as path_kind
from docstructure.prefixes import placebo as placebo_kind
from docstructure.prefixes.prefix import Inputs
from docstructure.prefixes.stage import fit
from docstructure.prefixes.verification import depths, residuals
from tests.unit.test_prefixes import chunks_of, documents_of

LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts"

cells = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6, unique=True).map(sorted)


def count_residuals(documents, strings, donors):
    return sum(documents[i] == documents[j] or strings[i] == strings[j] for i, j in enumerate(donors))


def least_by_exhaustion(documents, strings):
    return min(count_residuals(documents, strings, donors) for donors in permutations(range(len(documents))))


@given(cells)
@settings(max_examples=150, deadline=None)
def test_the_minimum_is_the_minimum_over_all_permutations(bucket):
    documents, strings = zip(*bucket, strict=True)
    assert minimum(documents, strings) == least_by_exhaustion(documents, strings)


@given(cells, st.integers(0, 2**40))
@settings(max_examples=200, deadline=None)
def test_a_draw_is_a_permutation_at_the_minimum(bucket, seed):
    documents, strings = zip(*bucket, strict=True)
    donors = derange(documents, strings, [seed])
    assert sorted(donors) == list(range(len(bucket)))
    assert count_residuals(documents, strings, donors) == least_by_exhaustion(documents, strings)


larger_cells = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 30) | st.integers(0, 4)), min_size=1, max_size=60, unique=True
).map(sorted)


@given(larger_cells, st.integers(0, 2**40), st.booleans())
@settings(max_examples=150, deadline=None)
def test_repairs_reach_the_minimum_with_and_without_exchanges(bucket, seed, exchanges):
    """Redraws off, so that the repair does the work; exchanges off, so that augmenting paths do all of it."""
    documents, strings = zip(*bucket, strict=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placebo, "REDRAWS", 1)
        if not exchanges:
            patch.setattr(placebo, "_exchange", lambda *_: None)
        donors = derange(documents, strings, [seed])
    assert sorted(donors) == list(range(len(bucket)))
    assert count_residuals(documents, strings, donors) == minimum(documents, strings)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([1], 1), ([2], 2), ([5, 5], 0), ([6, 4], 2), ([9, 1], 8), ([1] * 10, 0), ([7, 1, 1, 1, 1], 3)],
)
def test_residuals_of_a_giant_document(sizes, expected):
    documents = [d for d, size in enumerate(sizes) for _ in range(size)]
    strings = list(range(len(documents)))
    assert minimum(documents, strings) == expected
    assert count_residuals(documents, strings, derange(documents, strings, [1])) == expected


@pytest.mark.parametrize(("share", "expected"), [(3, 0), (5, 0), (6, 2), (10, 10)])
def test_residuals_of_a_string_that_many_documents_share(share, expected):
    """'[Introduction] ' as the title of `share` documents out of ten: their donors must come from the others."""
    documents, strings = list(range(10)), [0] * share + list(range(1, 11 - share))
    assert minimum(documents, strings) == expected
    assert count_residuals(documents, strings, derange(documents, strings, [1])) == expected


def test_a_forced_residual_is_not_the_pairs_own_path():
    documents, strings = [0] * 6 + [1, 2], list(range(8))
    for seed in range(50):
        donors = derange(documents, strings, [seed])
        assert count_residuals(documents, strings, donors) == 4
        assert all(donor != receiver for receiver, donor in enumerate(donors))


@pytest.mark.parametrize("redraws", [64, 1])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_draws_are_uniform_over_all_derangements(n, redraws, monkeypatch):
    monkeypatch.setattr(placebo, "REDRAWS", redraws)
    every = [p for p in permutations(range(n)) if all(i != j for i, j in enumerate(p))]
    drawn = Counter(tuple(derange(range(n), range(n), [seed])) for seed in range(1000))
    assert set(drawn) <= set(every)
    assert chisquare([drawn[p] for p in every]).pvalue > 1e-4


def test_draws_are_uniform_over_constrained_permutations():
    """Documents of 1, 2 and 3 pairs: every permutation at the minimum is as likely as any other."""
    documents = [0, 1, 1, 2, 2, 2]
    every = [p for p in permutations(range(6)) if count_residuals(documents, range(6), p) == 0]
    drawn = Counter(tuple(derange(documents, range(6), [seed])) for seed in range(2000))
    assert set(drawn) <= set(every)
    assert chisquare([drawn[p] for p in every]).pvalue > 1e-4


def test_a_large_draw_is_no_rotation_and_looks_random():
    """1,500 documents of 15 pairs (QASPER's size, repaired): shifts spread evenly, cycles as chance has them."""
    documents = np.repeat(np.arange(1500), 15).tolist()
    n = len(documents)
    donors = np.asarray(derange(documents, range(n), [20260710, 3]))
    assert count_residuals(documents, range(n), donors.tolist()) == 0
    shifts = (donors - np.arange(n)) % n
    assert chisquare(np.histogram(shifts, bins=20, range=(0, n))[0]).pvalue > 1e-4
    assert abs(np.corrcoef(np.arange(n), donors)[0, 1]) < 4 / np.sqrt(n)
    seen, cycles = np.zeros(n, dtype=bool), 0
    for start in range(n):
        cycles += not seen[start]
        while not seen[start]:
            seen[start] = True
            start = donors[start]  # noqa: PLW2901
    assert 2 <= cycles <= 30  # ln(22,500) is 10
    apart = len({(a, b) for a, b in zip(documents, donors // 15, strict=True)})
    assert apart > 0.98 * n  # a document's pairs go to different documents


def pairs_of(n_documents):
    paths = [("A",), ("A", "x"), ("B",), ()]
    return [Pair(f"d{d}", (f"Title {d}", *path)) for d in range(n_documents) for path in paths]


def test_each_depth_is_a_permutation_of_its_own_pairs():
    pairs = pairs_of(9)
    donors = assign_donors(pairs, 7)
    assert sorted(donors) == sorted(pairs) == sorted(donors.values())
    assert all(len(pair.path) == len(donor.path) for pair, donor in donors.items())
    assert all(pair.doc_id != donor.doc_id for pair, donor in donors.items())


@given(st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_the_order_and_repetition_of_pairs_do_not_matter(random):
    pairs = pairs_of(9)
    shuffled = [*pairs, *pairs[:7]]
    random.shuffle(shuffled)
    assert assign_donors(shuffled, 7) == assign_donors(pairs, 7)


def test_another_seed_is_another_draw():
    assert assign_donors(pairs_of(9), 7) != assign_donors(pairs_of(9), 8)


def test_a_bucket_does_not_depend_on_the_others():
    pairs = pairs_of(9)
    shallow = [pair for pair in pairs if len(pair.path) == 2]
    whole = assign_donors(pairs, 7)
    assert assign_donors(shallow, 7) == {pair: whole[pair] for pair in shallow}


def test_buckets_of_equal_size_are_dealt_differently():
    pairs = [Pair(f"d{d}", (f"T{d}", *path)) for d in range(9) for path in ((), ("A",))]
    donors = assign_donors(pairs, 7)
    assert [donors[pair].doc_id for pair in pairs[::2]] != [donors[pair].doc_id for pair in pairs[1::2]]


PROGRAM = """
import hashlib
from docstructure.placebo import Pair, assign_donors
paths = [(), ("A",), ("A", "x"), ("B",)]
donors = assign_donors({Pair(f"d{d}", (f"Title {d}", *p)) for d in range(40) for p in paths}, 20260710)
print(hashlib.sha256(repr(sorted(donors.items())).encode()).hexdigest())
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_hash_seed_does_not_matter(hash_seed):
    """A set is passed on purpose: its order changes with PYTHONHASHSEED."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(LIBRARY)}
    found = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    paths = [(), ("A",), ("A", "x"), ("B",)]
    here = assign_donors([Pair(f"d{d}", (f"Title {d}", *p)) for d in range(40) for p in paths], 20260710)
    assert found.stdout.strip() == hashlib.sha256(repr(sorted(here.items())).encode()).hexdigest()


def test_random_numbers_are_the_published_stream_of_pcg64():
    """NumPy promises a bit generator's raw stream, and only that: a permutation sorts its outputs."""
    raw = np.random.PCG64(np.random.SeedSequence([1, 2])).random_raw(5)
    assert placebo._Draws([1, 2]).permutation(5).tolist() == sorted(range(5), key=lambda i: raw[i])


def views(titles, chunks, tokenizer, depth=3):
    inputs = Inputs(documents_of(titles), chunks, None, " › ")
    return (
        fit(path_kind.render(path_kind.Options(depth), inputs), chunks, tokenizer, 510),
        fit(placebo_kind.render(placebo_kind.Options(depth, 20260710), inputs), chunks, tokenizer, 510),
    )


TITLES = {f"d{i}": ("Same title" if i < 3 else f"Title {i}") for i in range(8)}
PATHS = [
    (doc_id, path)
    for doc_id in TITLES
    for path in ([], ["Introduction"], ["Introduction"], ["Methods", "Data"], ["Methods", "Data", "Deep"], ["Results"])
]


def report(view, chunks, depth=3):
    return residuals(view, chunks, documents_of(TITLES), depth, " › ")


def test_a_placebo_view_is_real_paths_of_others(tokenizer):
    chunks = chunks_of(PATHS)
    path, shuffled = views(TITLES, chunks, tokenizer)
    assert (shuffled["donor_doc_id"] != chunks["doc_id"]).all()
    assert (shuffled["prefix"] != path["prefix"]).all()
    real = set(zip(chunks["doc_id"], path["prefix"], strict=True))
    assert set(zip(shuffled["donor_doc_id"], shuffled["prefix"], strict=True)) == real
    own = pl.DataFrame({"doc": chunks["doc_id"], "own": path["prefix"], "given": shuffled["prefix"]})
    assert own.group_by("doc", "own").agg(pl.col("given").n_unique())["given"].max() == 1


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_path_and_placebo_have_equal_depths(tokenizer, depth):
    chunks = chunks_of(PATHS)
    path, shuffled = views(TITLES, chunks, tokenizer, depth)
    found = [depths(view, chunks, documents_of(TITLES), depth, " › ") for view in (path, shuffled)]
    assert found[0].equals(found[1])
    assert found[0]["n_chunks"].sum() == chunks.height
    assert found[0]["depth"].to_list() == list(range(1, depth + 1))


def test_the_audit_counts_what_was_dealt(tokenizer):
    chunks = chunks_of(PATHS)
    _, shuffled = views(TITLES, chunks, tokenizer)
    found = report(shuffled, chunks)
    assert found["depth"].to_list() == [1, 2, 3]
    assert found["n_pairs"].to_list() == [8, 16, 8]
    assert found["largest_document"].to_list() == [1, 2, 1]
    assert found["largest_string"].to_list() == [3, 3, 3]
    assert found["n_chunks"].to_list() == [8, 24, 16]
    assert found["residual"].to_list() == found["minimum"].to_list() == found["split_pairs"].to_list() == [0, 0, 0]


def test_the_audit_counts_forced_residuals(tokenizer):
    titles = {"d0": "Giant", "d3": "Small"}
    chunks = chunks_of([*(("d0", [name]) for name in "ABCDE"), ("d3", ["A"])])
    _, shuffled = views(titles, chunks, tokenizer)
    found = residuals(shuffled, chunks, documents_of(titles), 3, " › ")
    assert found["minimum"].to_list() == found["residual"].to_list() == [4]


def test_the_audit_sees_a_placebo_that_is_none(tokenizer):
    """The path view passed off as a placebo: every pair is residual."""
    chunks = chunks_of(PATHS)
    path, _ = views(TITLES, chunks, tokenizer)
    found = report(path.with_columns(donor_doc_id=chunks["doc_id"]), chunks)
    assert found["residual"].to_list() == found["n_pairs"].to_list()
    assert found["residual_chunks"].to_list() == found["n_chunks"].to_list()


def test_the_audit_sees_an_equal_string_from_another_document(tokenizer):
    """d0, d1 and d2 bear the same title: a donor among them renders to the chunk's own string."""
    chunks = chunks_of(PATHS)
    path, _ = views(TITLES, chunks, tokenizer)
    swapped = chunks["doc_id"].replace({"d0": "d1", "d1": "d2", "d2": "d0"})
    found = report(path.with_columns(donor_doc_id=swapped), chunks)
    assert found["residual"].to_list() == found["n_pairs"].to_list()


def test_the_audit_sees_a_pair_with_two_donors(tokenizer):
    chunks = chunks_of(PATHS)
    _, shuffled = views(TITLES, chunks, tokenizer)
    first = chunks.with_row_index().filter(
        (pl.col("doc_id") == "d5") & (pl.col("path").list.join("/") == "Introduction")
    )["index"]
    other = shuffled.with_row_index().with_columns(
        donor_doc_id=pl.when(pl.col("index") == first[0]).then(pl.lit("d4")).otherwise("donor_doc_id")
    )
    assert report(other.drop("index"), chunks)["split_pairs"].sum() == (shuffled["donor_doc_id"][int(first[0])] != "d4")


def test_an_invented_path_is_found(tokenizer):
    chunks = chunks_of(PATHS)
    _, shuffled = views(TITLES, chunks, tokenizer)
    with pytest.raises(PlaceboError, match="no heading path of"):
        depths(shuffled.with_columns(prefix=pl.lit("[No › Such › Path] ")), chunks, documents_of(TITLES), 3, " › ")


def test_a_view_of_other_chunks_is_found(tokenizer):
    chunks = chunks_of(PATHS)
    _, shuffled = views(TITLES, chunks, tokenizer)
    with pytest.raises(PlaceboError, match="only one of"):
        report(shuffled[1:], chunks)


def test_truncated_placebos_are_still_audited(tokenizer):
    chunks = chunks_of(PATHS, n_tokens=504)
    path, shuffled = views(TITLES, chunks, tokenizer)
    assert shuffled["prefix_truncated"].any()
    assert not shuffled["prefix_truncated"].all()
    found = report(shuffled, chunks)
    assert found["minimum"].to_list() == [0, 0, 0]
    assert depths(shuffled, chunks, documents_of(TITLES), 3, " › ")["n_chunks"].sum() == chunks.height
    assert (shuffled["n_prefix_tokens"] + 504 <= 510).all()
    assert path.height == shuffled.height


def test_too_many_residuals_are_never_written(monkeypatch):
    monkeypatch.setattr(placebo, "REDRAWS", 1)
    for step in ("_exchange", "_augment"):
        monkeypatch.setattr(placebo, step, lambda *_: None)
    with pytest.raises(PlaceboError, match="residual donors where 0 are forced"):
        derange([0, 0, 0, 0, 1, 1, 1, 1], range(8), [3])
