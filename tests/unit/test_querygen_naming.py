"""Underspecified queries must not name what they hint at."""

import pytest

from docstructure.querygen.naming import common_words, named, names_of
from docstructure.querygen.sampling import Source

TEXT = (
    "Napoleon Bonaparte led the army to Moscow. The city was empty. In September the Russians, under Kutuzov, "
    "had left it. Bonaparte waited. He will wait, said Will Smith. “Fires broke out,” wrote Ségur."
)


def source(title="French invasion of Russia", text=TEXT, doc_id="d"):
    return Source(doc_id, title, text, ((0, len(text)),), ())


def verdict(query, *, title="French invasion of Russia", span=TEXT, language="en", common=frozenset(), text=TEXT):
    return named(query, names_of(source(title, text), [span], language, common))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Who was the commander that left the city?", ""),
        ("How long did the general wait in the empty city?", ""),
        ("Why did the invasion fail?", "title: invasion"),
        ("Why did the invasions fail?", "title: invasions"),
        ("Who ruled Russia?", "title: russia"),
        ("What did Kutuzov do?", "proper name: kutuzov"),
        ("What did kutuzov's men do?", "proper name: kutuzov"),
        ("What did MOSCOW look like?", "proper name: moscow"),
        ("Whose fires, asked Segur and Ségur?", "proper name: ségur"),
        ("When did Bonaparte wait?", "proper name: bonaparte"),
        ("What happened that September?", "proper name: september"),
        ("Who said he will wait?", ""),
        ("What did Will say?", "proper name: Will"),
        ("Will he wait?", ""),
        ("Were there fires, and did they spread?", ""),
    ],
)
def test_titles_and_proper_names(query, name):
    assert verdict(query) == name


def test_a_name_that_only_begins_sentences_is_known_from_elsewhere():
    span = "Bonaparte waited."
    assert verdict("Did bonaparte wait?", span=span) == "proper name: bonaparte"
    # not a name: nowhere does the document write it with a capital but at a sentence's start
    assert verdict("Did the fires spread?", span="Fires broke out.") == ""


def test_a_title_of_short_words_counts_as_a_whole():
    assert verdict("Where is tea grown?", title="Tea", text="tea", span="tea") == "title: tea"
    assert verdict("Is it an art of war?", title="The Art of War", text="x", span="x") == ""
    assert verdict("Who wrote the art of war?", title="The Art of War", text="x", span="x") == "title: the art of war"
    assert verdict("它的首都北京在哪里？", title="北京", text="北京", span="北京") == "title: 北 京"
    assert verdict("它的首都在哪里？", title="北京", text="北京", span="北京") == ""


def test_cyrillic_names_in_other_cases():
    text = "Армию вёл Кутузов, а город был пуст."
    assert verdict("Что сделал Кутузова?", title="", text=text, span=text) == "proper name: кутузова"
    assert verdict("Что сделал полководец?", title="", text=text, span=text) == ""


def test_german_nouns_are_no_names():
    text = "Der Feldherr zog mit dem Heer in die Stadt."
    assert verdict("Wohin zog der Feldherr?", title="Krieg von 1812", text=text, span=text, language="de") == ""
    assert verdict("Was war der Krieg?", title="Krieg von 1812", text=text, span=text, language="de") == "title: krieg"
    assert verdict("Wohin zog der Feldherr?", title="", text=text, span=text, language="en") != ""


def test_words_that_half_the_corpus_uses_name_nothing():
    many = [source(text="they went with them", doc_id=str(n)) for n in range(9)]
    assert common_words(many) == frozenset()
    common = common_words([*many, source(text="something else", doc_id="x")])
    assert common == {"they", "went", "with", "them"}
    assert verdict("Who went with the wind?", title="Gone With Wind", common=common) == "title: wind"
    assert verdict("Who went with it?", title="Gone With Wind", common=common) == ""


def test_no_title_no_names():
    assert verdict("Anything at all?", title="", text="", span="") == ""
