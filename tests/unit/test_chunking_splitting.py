"""Splitting: near-equal parts between sentences, against exhaustive search."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking.chunk import ChunkingError
from docstructure.chunking.splitting import partition, split
from docstructure.spans import check_tiling
from tests.unit.chunking_cases import assemble, nasty_cases, sentence, words


def best_by_exhaustion(sizes, t_max, t_min):
    """All ways to cut a row of atoms, ranked by the promise in the docstring."""
    marks = np.concatenate([[0], np.cumsum(sizes)])
    ranked = []
    for k in range(len(sizes)):
        for cuts in combinations(range(1, len(sizes)), k):
            parts = np.diff(marks[[0, *cuts, len(sizes)]])
            if parts.max() <= t_max:
                ranked.append((int((parts < t_min).sum()), len(parts), int((parts**2).sum())))
    return min(ranked)


@given(st.lists(st.integers(1, 10), min_size=1, max_size=9), st.integers(10, 25), st.integers(0, 10))
@settings(max_examples=200, deadline=None)
def test_partition_is_the_best_of_all(sizes, t_max, t_min):
    marks = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    cuts = partition(marks, t_max, t_min)
    parts = np.diff([0, *(marks[cut] for cut in cuts), marks[-1]])
    found = (int((parts < t_min).sum()), len(parts), int((parts**2).sum()))
    assert found == best_by_exhaustion(sizes, t_max, t_min)


def test_sixteen_equal_sentences_make_four_equal_parts(tokenizer):
    case = assemble([(("A",), [" ".join([sentence(10)] * 16)])])
    parts = split(case.ruler(tokenizer), (0, len(case.text)), 45, 10)
    assert [tokenizer.count(case.text[a:b]) for a, b in parts] == [40] * 4
    assert all(case.text[a:b].startswith("The") for a, b in parts)


@given(case=nasty_cases, t_max=st.integers(8, 40))
@settings(max_examples=80, deadline=None)
def test_parts_tile_and_keep_t_max(tokenizer, case, t_max):
    parts = split(case.ruler(tokenizer), (0, len(case.text)), t_max, 4)
    assert check_tiling(parts, len(case.text)) == []
    assert all(tokenizer.count(case.text[a:b]) <= t_max for a, b in parts)


def test_one_sentence_of_ten_thousand_words_is_cut_between_words(tokenizer):
    text = words(10_000) + "."
    case = assemble([(("A",), [text])])
    parts = split(case.ruler(tokenizer), (0, len(text)), 350, 60)
    counts = [tokenizer.count(text[a:b]) for a, b in parts]
    assert len(parts) == 29
    assert max(counts) <= 350
    assert max(counts) - min(counts) <= 3
    assert all(text[b - 1] == " " for _, b in parts[:-1])


def test_one_word_of_two_thousand_characters_stays_whole_when_it_is_one_token(tokenizer):
    case = assemble([(("A",), [f"{sentence(20)} {'x' * 2000} {sentence(20)}"])])
    assert tokenizer.count("x" * 2000) == 1
    parts = split(case.ruler(tokenizer), (0, len(case.text)), 25, 5)
    assert any("x" * 2000 in case.text[a:b] for a, b in parts)
    assert max(tokenizer.count(case.text[a:b]) for a, b in parts) <= 25


def test_a_run_of_two_thousand_characters_without_spaces_makes_progress(tokenizer):
    """Punctuated base64-like text: more than 2,000 characters, hundreds of tokens, not one space."""
    text = "ab1/" * 600
    case = assemble([(("A",), [text])])
    parts = split(case.ruler(tokenizer), (0, len(text)), 50, 10)
    counts = [tokenizer.count(text[a:b]) for a, b in parts]
    assert check_tiling(parts, len(text)) == []
    assert max(counts) <= 50
    assert min(counts) >= 10


def test_a_cut_inside_a_word_that_adds_a_token_still_keeps_t_max(tokenizer):
    """Nine of the document's tokens in a row count as ten once they are sliced out of "unaffable/unaffable/"."""
    text = "unaffable/" * 100
    case = assemble([(("A",), [text])])
    ruler = case.ruler(tokenizer)
    starts = [int(start) for start in ruler.tokens.starts]
    assert any(tokenizer.count(text[a:b]) > 9 for a, b in zip(starts, starts[9:], strict=False))
    for t_max in range(8, 40):
        parts = split(ruler, (0, len(text)), t_max, 0)
        assert max(tokenizer.count(text[a:b]) for a, b in parts) <= t_max


def test_text_without_spaces_is_cut_at_tokens(tokenizer):
    text = "中文没有空格的文本" * 60
    case = assemble([(("A",), [text])])
    parts = split(case.ruler(tokenizer), (0, len(text)), 100, 20)
    assert [tokenizer.count(text[a:b]) for a, b in parts] == [90] * 6


def test_a_long_word_after_a_short_one_leaves_no_scrap(tokenizer):
    text = "See " + "ab1/" * 100
    case = assemble([(("A",), [text])])
    first = split(case.ruler(tokenizer), (0, len(text)), 50, 0)[0]
    assert tokenizer.count(text[slice(*first)]) > 20


def test_tokens_that_share_a_character_are_not_parted(tokenizer):
    """A Hangul syllable is normalized to several letters, each a token at the same character."""
    text = "한" * 100
    located = tokenizer.locate([text])[0]
    assert len(located) > len(np.unique(located.starts)) or len(located) == 1
    text = "한국어 문장 " * 60
    case = assemble([(("A",), [text])])
    parts = split(case.ruler(tokenizer), (0, len(text)), 20, 5)
    assert max(tokenizer.count(text[a:b]) for a, b in parts) <= 20


def test_a_limit_below_one_character_is_refused(tokenizer):
    text = "한 한 한"
    case = assemble([(("A",), [text])])
    with pytest.raises(ChunkingError, match=r"1 tokens|exceeds 1"):
        split(case.ruler(tokenizer), (0, len(text)), 1, 0)


def test_repeated_passages_get_their_own_spans(tokenizer):
    case = assemble([(("A",), ["This is important. This is important. This is important."] * 3)])
    parts = split(case.ruler(tokenizer), (0, len(case.text)), 9, 4)
    assert check_tiling(parts, len(case.text)) == []
    assert len({*parts}) == len(parts)
    assert all(a < b for a, b in pairwise([start for start, _ in parts]))
