"""The leakage filter: rouge_score on Latin text, and copies in every script."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from docstructure.querygen.leakage import Limits, lcs_length, leak, rouge_l, shared_ngram
from docstructure.words import words

LATIN = "The colour of the meat comes from astaxanthin, a pigment made by algae and passed along the food chain."
CYRILLIC = "Кутузов отступил из Москвы после сражения, потому что хотел сохранить армию для новых боёв."
CJK = "北京是中华人民共和国的首都，也是全国的政治、文化和国际交往中心。"
JAPANESE = "東京は日本の首都であり、世界最大級の都市圏の中心である。"
THAI = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"

latin_text = st.lists(st.sampled_from([*"abcde", "The", "cat's", "1,000", "x-y", "."]), max_size=25).map(" ".join)


class OurTokenizer:
    def tokenize(self, text):
        return words(text)


@given(query=latin_text, span=latin_text)
@settings(max_examples=200, deadline=None)
@example(query=LATIN, span=LATIN)
def test_rouge_l_is_rouge_scores_on_latin_text(query, span):
    expected = rouge_scorer.RougeScorer(["rougeL"]).score(span, query)["rougeL"].fmeasure
    assert rouge_l(words(query), words(span)) == pytest.approx(expected, abs=1e-12)


@given(query=st.text(alphabet="абв 京都 é."), span=st.text(alphabet="абв 京都 é."))
@settings(max_examples=100, deadline=None)
def test_rouge_l_is_rouge_scores_on_our_words(query, span):
    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=OurTokenizer())
    assert rouge_l(words(query), words(span)) == pytest.approx(scorer.score(span, query)["rougeL"].fmeasure, abs=1e-12)


def table_lcs(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.lists(st.sampled_from("abc"), max_size=90), st.lists(st.sampled_from("abc"), max_size=90))
@settings(max_examples=100, deadline=None)
def test_the_longest_common_subsequence_is_the_tables(a, b):
    assert lcs_length(a, b) == table_lcs(a, b)


@pytest.mark.parametrize("text", [LATIN, CYRILLIC, CJK, JAPANESE, THAI])
def test_a_verbatim_copy_leaks_in_every_script(text):
    assert leak(text, [text]).startswith("shared 4-gram")
    assert leak(text.upper(), [text])
    assert leak(text, [text], Limits(ngram=1000)) == "rouge_l: 1.000"
    middle = text[len(text) // 4 : len(text) // 4 * 3]
    assert leak(middle, ["x " + text])


def test_rouge_scores_own_tokenizer_does_not_see_these_copies():
    """Why the filter has words of its own."""
    for text in (CYRILLIC, CJK):
        assert rouge_scorer.RougeScorer(["rougeL"]).score(text, text)["rougeL"].fmeasure == 0


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ("What gives salmon flesh its pink hue?", LATIN),
        ("Зачем полководец оставил столицу?", CYRILLIC),
        ("哪座城市设有中央政府？", CJK),
    ],
)
def test_a_question_in_other_words_passes(query, span):
    assert leak(query, [span]) == ""


def test_a_four_gram_counts_across_punctuation_case_and_lines():
    assert (
        leak("Why: (food chain) THE\nend...", ["... the food, chain. The end came"])
        == "shared 4-gram: food chain the end"
    )
    assert leak("one two three four", ["one two three; FOUR", "x"]).startswith("shared")
    assert leak("one two three x four", ["one two three four " + "y " * 40]) == ""


def test_a_three_word_query_is_judged_by_rouge_l_alone():
    assert leak("made by algae", [LATIN]) == ""
    assert leak("made by algae", ["Made by algae."]) == "rouge_l: 1.000"
    assert leak("made by algae", ["It is made by small algae in water"]) == "rouge_l: 0.545"


def test_the_threshold_itself_passes():
    query, span = ["a"] * 7 + ["x"] * 13, ["a"] * 7 + ["y"] * 13
    assert rouge_l(query, span) == pytest.approx(0.35)
    texts = [" ".join(f"{word}{i if word != 'a' else ''}" for i, word in enumerate(side)) for side in (query, span)]
    assert leak(texts[0], [texts[1]], Limits(max_rouge_l=0.35, ngram=8)) == ""
    assert leak(texts[0], [texts[1]], Limits(max_rouge_l=0.34, ngram=8)).startswith("rouge_l")


def test_every_span_counts_on_its_own():
    assert leak("where do eels spawn", ["nothing", "eels do it where eels do spawn"]).startswith("rouge_l")
    assert leak("what is it", ["a b", "c d"]) == ""


def test_a_query_without_words_is_rejected_not_passed():
    assert leak("?!", [LATIN]) == "no words"
    assert leak("", [""]) == "no words"
    assert leak("a word", [""]) == ""


def test_short_sequences_have_no_ngram():
    assert shared_ngram(["a"], ["a"], 4) == ()
    assert shared_ngram([], [], 1) == ()


@pytest.mark.parametrize("wrong", [{"max_rouge_l": -0.1}, {"max_rouge_l": 1.1}, {"ngram": 0}])
def test_limits_are_validated(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)
