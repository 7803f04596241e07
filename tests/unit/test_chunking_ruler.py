"""Counting: whatever slice is asked for, its count is the tokenizer's own count of exactly that slice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking.ruler import measure, sentence_starts
from tests.unit.chunking_cases import NASTY, assemble, nasty_cases


@given(case=nasty_cases, data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_count_of_any_slice_is_the_tokenizers(tokenizer, case, data):
    ruler = case.ruler(tokenizer)
    for _ in range(10):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(case.text))] * 2)))
        assert ruler.count(start, end) == tokenizer.count(case.text[start:end])


@pytest.mark.parametrize("piece", NASTY)
def test_every_cut_of_a_nasty_piece_is_counted(tokenizer, piece):
    text = f"Before {piece} after"
    ruler = next(measure([text], [[(0, len(text))]], tokenizer, "en"))
    for position in range(len(text) + 1):
        assert ruler.count(0, position) == tokenizer.count(text[:position])
        assert ruler.count(position, len(text)) == tokenizer.count(text[position:])


def test_a_cut_inside_a_word_changes_the_count(tokenizer):
    """The case that a plain difference of token positions gets wrong (seen: 3 + 1 tokens become more)."""
    text = "unaffable"
    whole = tokenizer.locate([text])[0]
    ruler = next(measure([text], [[(0, len(text))]], tokenizer, "en"))
    wrong = [p for p in range(1, len(text)) if whole.count(p, len(text)) != ruler.count(p, len(text))]
    assert wrong


@given(case=nasty_cases)
@settings(max_examples=60, deadline=None)
def test_sentences_start_at_paragraphs_and_never_at_white_space(tokenizer, case):
    starts = sentence_starts(case.text, case.paragraphs, "en")
    assert starts[0] == 0
    assert list(starts) == sorted(set(starts))
    assert all(not case.text[start].isspace() for start in starts[1:])
    visible = {
        start for start, end in case.paragraphs if case.text[start:end].strip() and not case.text[start].isspace()
    }
    assert visible <= {*starts}


def test_a_repeated_sentence_is_placed_at_each_of_its_occurrences():
    case = assemble([(("A",), ["This is important.", "This is important."]), (("B",), ["This is important."])])
    assert sentence_starts(case.text, case.paragraphs, "en") == (0, 20, 40)


def test_documents_are_measured_in_order_across_batches(tokenizer, monkeypatch):
    monkeypatch.setattr("docstructure.chunking.ruler.DOCUMENTS_PER_BATCH", 2)
    texts = [f"Word {'cat ' * n}end." for n in range(5)]
    rulers = list(measure(texts, [[(0, len(text))] for text in texts], tokenizer, "en"))
    assert [ruler.text for ruler in rulers] == texts
    assert [len(ruler.tokens) for ruler in rulers] == [n + 3 for n in range(5)]


def test_offsets_are_code_points_where_bytes_and_utf16_differ(tokenizer):
    text = "👩\u200d👩\u200d👧 naïve “quotes”. Zweiter Satz."
    starts = sentence_starts(text, [(0, len(text))], "en")
    assert text[starts[1] :] == "Zweiter Satz."
