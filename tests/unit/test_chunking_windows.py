"""Fixed windows: as many and as long as the matched chunks, snapped to sentences."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking import sections
from docstructure.chunking.chunk import ChunkingError
from docstructure.chunking.windows import Options, Snapping, cut, edges
from docstructure.spans import check_tiling
from tests.unit.chunking_cases import assemble, nasty_cases, plain_cases, sentence, words

snappings = st.builds(Snapping, st.integers(0, 15), st.sampled_from(["token", "nearest"]))


def spans_of(chunks):
    return [(chunk.start, chunk.end) for chunk in chunks]


@given(case=nasty_cases, snapping=snappings, t_max=st.integers(8, 60))
@settings(max_examples=120, deadline=None)
def test_windows_match_structural_chunks_in_number(tokenizer, case, snapping, t_max):
    ruler = case.ruler(tokenizer)
    matched = sections.cut(ruler, case.segments(), sections.Limits(t_max, t_max // 4))
    windows = cut(ruler, [chunk.n_tokens for chunk in matched], snapping)
    assert len(windows) == len(matched)
    assert check_tiling(spans_of(windows), len(case.text)) == []
    assert [w.n_tokens for w in windows] == tokenizer.counts([case.text[a:b] for a, b in spans_of(windows)]).tolist()
    assert all(w.path is None and w.top_section is None for w in windows)


@given(case=nasty_cases, snapping=snappings, n=st.integers(1, 60))
@settings(max_examples=120, deadline=None)
def test_edges_ascend_strictly_however_many_are_asked_for(tokenizer, case, snapping, n):
    """Degenerate on purpose: more windows than sentences, than tokens, up to one per character."""
    n = min(n, len(case.text))
    ruler = case.ruler(tokenizer)
    sizes = [len(ruler.tokens) // n] * n
    windows = cut(ruler, sizes, snapping)
    assert len(windows) == n
    assert check_tiling(spans_of(windows), len(case.text)) == []
    if len(set(ruler.tokens.starts.tolist())) > n:
        assert all(ruler.rank(w.end) > ruler.rank(w.start) for w in windows)


@given(
    case=plain_cases, snap=st.integers(0, 8), t_max=st.integers(20, 60), fallback=st.sampled_from(["token", "nearest"])
)
@settings(max_examples=120, deadline=None)
def test_means_are_equal_by_construction(tokenizer, case, snap, t_max, fallback):
    ruler = case.ruler(tokenizer)
    matched = [c.n_tokens for c in sections.cut(ruler, case.segments(), sections.Limits(t_max, t_max // 4))]
    windows = [w.n_tokens for w in cut(ruler, matched, Snapping(snap, fallback))]
    assert (len(windows), sum(windows)) == (len(matched), sum(matched))


@given(case=plain_cases, snap=st.integers(0, 6), fallback=st.sampled_from(["token", "nearest"]))
@settings(max_examples=120, deadline=None)
def test_edges_stand_where_a_search_of_all_places_finds_them(tokenizer, case, snap, fallback):
    """Oracle: token positions counted from the text itself; windows wide enough that edges cannot collide."""
    total = tokenizer.count(case.text)
    n = max(1, total // 30)
    before = {p: tokenizer.count(case.text[:p]) for p in range(1, len(case.text)) if not case.text[p].isspace()}
    sentence_starts = [p for p in before if case.text[:p].rstrip().endswith(".") and case.text[p - 1].isspace()]
    word_starts = [p for p in before if case.text[p - 1].isspace()]
    found = edges(case.ruler(tokenizer), [total / n] * n, Snapping(snap, fallback))
    for k, (position, in_reach) in enumerate(zip(found.positions, found.in_reach, strict=True), start=1):
        ideal = k * total / n
        nearest = min(sentence_starts, key=lambda p: abs(before[p] - ideal), default=None)
        distance = None if nearest is None else abs(before[nearest] - ideal)
        assert in_reach == (distance is not None and distance <= snap)
        if in_reach or (fallback == "nearest" and nearest is not None):
            assert abs(before[position] - ideal) == pytest.approx(distance)
            assert position in sentence_starts
        elif snap:
            assert abs(before[position] - ideal) == pytest.approx(min(abs(before[p] - ideal) for p in word_starts))
        else:
            assert abs(tokenizer.count(case.text[:position]) - ideal) <= 1


def test_the_target_is_not_rounded(tokenizer):
    """Ten windows of 10.5 tokens: rounding to 10 or 11 would drift by five tokens at the last edge."""
    case = assemble([(("A",), [words(105)])])
    found = edges(case.ruler(tokenizer), [10, 11] * 5, Snapping(0, "token"))
    ranks = [tokenizer.count(case.text[:position]) for position in found.positions]
    assert all(abs(rank - k * 10.5) <= 0.5 for k, rank in enumerate(ranks, start=1))


def test_edges_snap_to_the_nearest_sentence_and_the_earlier_of_two(tokenizer):
    case = assemble([(("A",), [" ".join(sentence(n) for n in (16, 8, 16))])])
    assert edges(case.ruler(tokenizer), [20, 20], Snapping(4, "token")).positions == (case.text.index(".") + 2,)
    assert edges(case.ruler(tokenizer), [20, 20], Snapping(4, "token")).in_reach == (True,)


def test_the_fallback_decides_where_no_sentence_is_in_reach(tokenizer):
    case = assemble([(("A",), [" ".join(sentence(n) for n in (10, 40))])])
    ruler = case.ruler(tokenizer)
    token, nearest = (edges(ruler, [25, 25], Snapping(4, fallback)) for fallback in ("token", "nearest"))
    assert token.in_reach == nearest.in_reach == (False,)
    assert tokenizer.count(case.text[: token.positions[0]]) == 25
    assert tokenizer.count(case.text[: nearest.positions[0]]) == 10


def test_a_word_is_not_cut_while_a_word_start_is_in_reach(tokenizer):
    assert tokenizer.count("unaffable") == 3
    text = words(40, "unaffable")
    case = assemble([(("A",), [text])])
    for window in cut(case.ruler(tokenizer), [120 / 7] * 7, Snapping(2, "token")):
        assert text[window.start : window.end].strip().split(" ")[0] == "unaffable"


def test_a_word_longer_than_the_reach_is_cut_at_a_token_and_counted_as_cut(tokenizer):
    text = "ab1/" * 100
    case = assemble([(("A",), [text])])
    windows = cut(case.ruler(tokenizer), [tokenizer.count(text) / 7] * 7, Snapping(15, "token"))
    assert [w.n_tokens for w in windows] == tokenizer.counts([text[a:b] for a, b in spans_of(windows)]).tolist()


def test_one_window_has_no_edge(tokenizer):
    case = assemble([(("A",), ["One. Two."])])
    assert spans_of(cut(case.ruler(tokenizer), [4], Snapping(15, "token"))) == [(0, 9)]


def test_script_without_spaces_is_windowed_at_characters(tokenizer):
    text = "中文没有空格的文本" * 20
    case = assemble([(("A",), [text])])
    windows = cut(case.ruler(tokenizer), [60] * 3, Snapping(15, "token"))
    assert [w.n_tokens for w in windows] == [60] * 3


def test_the_blank_line_belongs_to_the_window_before(tokenizer):
    case = assemble([(("A",), [sentence(20)] * 6)])
    windows = cut(case.ruler(tokenizer), [40] * 3, Snapping(15, "token"))
    assert all(case.text[a:b].startswith("The") for a, b in spans_of(windows))
    assert all(left.end == right.start for left, right in pairwise(windows))


@pytest.mark.parametrize("n", [0, 5])
def test_more_windows_than_characters_are_refused(tokenizer, n):
    case = assemble([(("A",), ["abcd"])])
    with pytest.raises(ChunkingError, match="windows"):
        cut(case.ruler(tokenizer), [1] * n, Snapping(15, "token"))


@pytest.mark.parametrize(("tokens", "fallback"), [(-1, "token"), (15, "sentence")])
def test_snapping_is_validated(tokens, fallback):
    with pytest.raises(ValueError, match="fixed_snap"):
        Snapping(tokens, fallback)


def test_options_name_what_they_match():
    with pytest.raises(ValueError, match="match"):
        Options("")
