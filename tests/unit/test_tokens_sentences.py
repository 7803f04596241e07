"""Tokens are located in characters; sentences tile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.models import ModelError
from docstructure.sentences import sentence_spans
from docstructure.tokens import load_tokenizer

TEXTS = st.text(st.sampled_from("ab .!?\n\u00a0\t漢字😀\u200d👩’“é"), max_size=80)


def test_nothing_is_truncated_or_padded(tokenizer):
    # all-MiniLM-L6-v2's own tokenizer.json truncates and pads to 128
    assert tokenizer.counts(["word " * 400, "word", ""]).tolist() == [400, 1, 0]


def test_offsets_are_code_points(tokenizer):
    text = "😀 naïve 漢字"
    tokens = tokenizer.locate([text])[0]
    pieces = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    assert pieces == ["😀", "naïve", "漢", "字"]


@given(TEXTS)
def test_counts_and_locations_agree(tokenizer, text):
    located = tokenizer.locate([text])[0]
    assert len(located) == tokenizer.count(text) == located.count(0, len(text))
    assert all(0 <= start <= end <= len(text) for start, end in zip(located.starts, located.ends, strict=True))


def test_count_of_a_span_is_the_tokens_that_begin_in_it(tokenizer):
    tokens = tokenizer.locate(["one two three"])[0]
    assert [tokens.count(0, 4), tokens.count(1, 8), tokens.count(13, 13)] == [1, 1, 0]


def test_missing_models_say_what_to_do(tmp_path):
    with pytest.raises(ModelError, match="not installed"):
        load_tokenizer({"package": "no_such_package"})
    with pytest.raises(ModelError, match="does not exist"):
        load_tokenizer({"folder": str(tmp_path / "none")})
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        load_tokenizer({"folder": str(tmp_path)})


@given(TEXTS, st.integers(0, 10), st.integers(0, 90))
def test_sentences_tile_any_part_of_any_text(text, start, end):
    start, end = min(start, len(text)), min(max(start, end), len(text))
    start = min(start, end)
    spans = sentence_spans(text, "en", start, end)
    assert "".join(text[slice(*span)] for span in spans) == text[start:end]
    assert all(text[slice(*span)].strip() for span in spans[1:])


def test_white_space_belongs_to_the_sentence_before():
    text = "One e.g. this. Two!\n\nThree"
    assert [text[slice(*span)] for span in sentence_spans(text, "en")] == ["One e.g. this. ", "Two!\n\n", "Three"]
