"""Spans against sets of characters."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from docstructure.spans import check_tiling, merge, overlap

SPAN = st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def characters(spans):
    return {position for start, end in spans for position in range(start, end)}


@given(st.lists(SPAN, max_size=8))
def test_merge_keeps_the_characters_and_leaves_no_overlap(spans):
    merged = merge(spans)
    assert characters(merged) == characters(spans)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(merged))
    assert merge(merged) == merged


def test_spans_that_touch_stay_two_pieces_of_evidence():
    assert merge([(5, 9), (0, 5)]) == [(0, 5), (5, 9)]


@given(SPAN, SPAN)
def test_overlap(a, b):
    assert overlap(a, b) == len(characters([a]) & characters([b]))


@given(st.lists(SPAN, max_size=6), st.integers(0, 40))
def test_check_tiling_finds_nothing_exactly_when_every_character_is_covered_once_in_order(spans, length):
    flat = [position for span in spans for position in range(*span)]
    assert (check_tiling(spans, length) == []) == (flat == list(range(length)))


def test_check_tiling_reports_every_problem():
    problems = check_tiling([(1, 3), (2, 5), (5, 5)], 7)
    assert problems == [
        "gap [0, 1) before span 0",
        "span 1 [2, 5) overlaps the one before by 1",
        "span 2 [5, 5) is empty or reversed",
        "spans end at 5, the text at 7",
    ]
