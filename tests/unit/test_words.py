"""Words in any script."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from docstructure.words import words
from tests.unit.chunking_cases import NASTY


@given(st.text(st.characters(max_codepoint=127)))
@settings(max_examples=200, deadline=None)
def test_on_ascii_they_are_rouge_scores_words(text):
    assert words(text) == DefaultTokenizer(use_stemmer=False).tokenize(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?! —…", []),
        ("Don't STOP_me", ["don", "t", "stop", "me"]),
        ("Наполеон вошёл в Москву.", ["наполеон", "вошёл", "в", "москву"]),
        ("Cafés, straße", ["cafés", "strasse"]),
        ("cafe\u0301s", ["cafés"]),
        ("北京是首都。", ["北", "京", "是", "首", "都"]),
        ("GPT模型2024", ["gpt", "模", "型", "2024"]),
        ("ＡＢＣ　ﬁn", ["abc", "fin"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("กิน ข้าว", list("กน") + list("ขาว")),
        ("I ❤️ tea", ["i", "tea"]),
        ("١٢٣ x²", ["١٢٣", "x2"]),
    ],
)
def test_words_of_many_scripts(text, expected):
    assert words(text) == expected


@given(st.text() | st.sampled_from(NASTY))
@settings(max_examples=200, deadline=None)
def test_words_are_folded_and_bare(text):
    for word in words(text):
        assert word
        assert not re.search(r"\s", word)
        assert any(map(str.isalnum, word))
        assert words(word) == [word] or not word.isascii()


@given(st.lists(st.sampled_from(["Москва", "北京", "tea", "straße", "é"]), max_size=6))
def test_words_joined_by_blanks_or_punctuation_are_the_same(parts):
    assert words(" ".join(parts)) == words(", ".join(parts)) == [word for part in parts for word in words(part)]
