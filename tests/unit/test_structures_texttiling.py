from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.structures.outcome import Flat
from docstructure.structures.texttiling import STOP_WORDS, Options, induce, propose
from docstructure.tree import violations

THEMES = {
    "bread": "flour dough yeast oven crust loaf bakery knead",
    "ships": "harbour sail anchor mast rudder keel cargo voyage",
    "stars": "galaxy telescope orbit comet nebula planet lunar eclipse",
    "wool": "sheep fleece shearing spindle loom yarn weaver flock",
}


def paragraph(theme, turn):
    """Forty words of a theme, among words that every paragraph has."""
    words = THEMES[theme].split()
    return " ".join(f"the {words[(turn + index) % 8]} was {words[(turn * 3 + index) % 8]}" for index in range(10)) + "."


def document(*themes, each=3):
    return [paragraph(theme, turn) for theme in themes for turn in range(each)]


SMALL = Options(block_words=80, section_words=60, subsection_words=40, long_words=400)


def starts(proposals):
    return [proposal.par_start for proposal in proposals if proposal.level == 1]


def test_sections_begin_where_the_vocabulary_changes():
    assert starts(propose(document(*THEMES), SMALL, STOP_WORDS["en"])) == [0, 3, 6, 9]


def test_titles_are_words_that_only_their_section_has():
    proposals = propose(document(*THEMES), SMALL, STOP_WORDS["en"])
    for theme, proposal in zip(THEMES, proposals, strict=True):
        words = proposal.title.split(", ")
        assert len(words) == 3
        assert proposal.title[0].isupper()
        assert all(word.lower() in THEMES[theme].split() for word in words)


def test_long_sections_are_divided_into_subsections_with_paths_of_depth_2():
    paragraphs = document("bread", "ships", each=6) + document("stars", each=6)
    options = Options(block_words=80, section_words=400, subsection_words=100, long_words=300)
    proposals = propose(paragraphs, options, STOP_WORDS["en"])
    assert {proposal.level for proposal in proposals} == {1, 2}
    assert violations(proposals, len(paragraphs)) == []
    for proposal, below in pairwise(proposals):
        if proposal.level == 1 and below.level == 2:
            assert proposal.par_start == proposal.par_end
            assert not set(below.title.lower().split(", ")) & set(proposal.title.lower().split(", "))


@given(
    st.lists(st.text(max_size=60).filter(str.strip), min_size=1, max_size=25), st.integers(1, 60), st.integers(1, 60)
)
def test_whatever_the_text_proposals_are_legal_and_deterministic(paragraphs, block, fewest):
    options = Options(block_words=block, section_words=fewest, subsection_words=1, long_words=fewest)
    proposals = propose(paragraphs, options)
    assert violations(proposals, len(paragraphs)) == []
    assert propose(paragraphs, options) == proposals


@given(st.lists(st.sampled_from(sorted(THEMES)), min_size=1, max_size=20), st.integers(10, 200))
def test_sections_keep_their_fewest_words(themes, fewest):
    paragraphs = [paragraph(theme, turn) for turn, theme in enumerate(themes)]
    options = Options(block_words=80, section_words=fewest, subsection_words=10, long_words=10**6)
    proposals = propose(paragraphs, options, STOP_WORDS["en"])
    assert all(len(proposals) == 1 or 40 * (proposal.par_end - proposal.par_start) >= fewest for proposal in proposals)


def test_a_document_of_one_paragraph_and_one_without_words():
    assert [(p.par_start, p.par_end) for p in propose(["one"], Options())] == [(0, 1)]
    (only,) = propose(["— … —"], Options())
    assert only.title == "— … —"


def test_scripts_without_spaces_have_terms():
    bread, ships = "小麦粉を練ってパンを焼く", "港から船が出て帆を張る"
    options = Options(block_words=20, section_words=10, subsection_words=10)
    assert starts(propose([bread] * 2 + [ships] * 2, options)) == [0, 2]


def test_words_are_unicode_and_case_does_not_count():
    cyrillic = ["Корабль вышел из гавани под парусом"] * 2 + ["ПЕКАРНЯ печёт хлеб из муки и дрожжей"] * 2
    options = Options(block_words=5, section_words=5, subsection_words=5)
    assert starts(propose(cyrillic, options)) == [0, 2]
    assert starts(propose([text.upper() for text in cyrillic], options)) == [0, 2]


def test_the_inducer_reads_paragraphs_only():
    paragraphs = document(*THEMES)
    text = "\n\n".join(paragraphs)
    spans, position = [], 0
    for part in paragraphs:
        spans.append((position, position + len(part)))
        position += len(part) + 2
    assert Options.reads_headings is False
    (outcome,) = induce(SMALL, [Flat("d", text, tuple(spans))], None, "en")
    assert outcome.status == "ok"
    assert "".join(text[section.start : section.end] for section in outcome.sections) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_words": 0}, "block_words is 0"),
        ({"title_words": True}, "title_words is True"),
        ({"long_words": 2.5}, "long_words is 2.5"),
        ({"cutoff": "low"}, "cutoff is 'low'"),
        ({"cutoff": float("nan")}, "cutoff is nan"),
        ({"subsection_words": 500}, "at most section_words"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Options(**options)
