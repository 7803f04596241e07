import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.structures.llm_answer import MAX_DEPTH, MAX_TITLE, read, schema
from docstructure.tree import Proposal

from .fake_llm import sections

JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_a_well_written_answer_is_read_as_it_is():
    answer = read(sections(("A", 1, 0, 2), ("B", 2, 2, 2), ("C", 3, 2, 5)))
    assert answer.proposals == (Proposal("A", 1, 0, 2), Proposal("B", 2, 2, 2), Proposal("C", 3, 2, 5))
    assert answer.problems == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("Sure! Here is the structure: {", "not JSON"),
        (sections(("A", 1, 0, 2))[:-3], "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON"),
        ("null", "list"),
        ("[]", "list"),
        ('{"sections": {}}', "list"),
        ('{"section": []}', "list"),
    ],
)
def test_what_is_no_answer(text, says):
    answer = read(text)
    assert answer.proposals == ()
    assert len(answer.problems) == 1
    assert says in answer.problems[0]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (None, "section 1: it is not an object: None"),
        ([1], "section 1: it is not an object: [1]"),
        ({"title": "B", "level": 1, "par_start": 0}, "section 1: par_end is not an integer: None"),
        ({"title": "B", "level": "1", "par_start": 0, "par_end": 1}, "section 1: level is not an integer: '1'"),
        ({"title": "B", "level": True, "par_start": 0, "par_end": 1}, "section 1: level is not an integer: True"),
        ({"title": "B", "level": 1, "par_start": 0.0, "par_end": 1}, "section 1: par_start is not an integer: 0.0"),
        ({"title": 7, "level": 1, "par_start": 0, "par_end": 1}, "section 1: title is not a string: 7"),
    ],
)
def test_an_entry_that_is_no_section_is_left_out_and_named(entry, says):
    first = json.loads(sections(("A", 1, 0, 1)))["sections"][0]
    answer = read(json.dumps({"sections": [first, entry]}))
    assert answer.proposals == (Proposal("A", 1, 0, 1),)
    assert answer.problems == (says,)


def test_what_no_file_takes_is_cut_and_named():
    answer = read(sections(("x" * 10_000, 10**30, -(10**30), 10**30), ("half \ud800", 1, 0, 1)))
    assert [proposal.level for proposal in answer.proposals] == [MAX_DEPTH, 1]
    assert len(answer.proposals[0].title) == MAX_TITLE
    answer.proposals[1].title.encode()
    assert len(answer.problems) == 2
    assert all(len(problem) <= 120 for problem in answer.problems)


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.text(), JSONS.map(json.dumps), JSONS.map(lambda inner: json.dumps({"sections": inner}))))
def test_no_text_is_an_exception(text):
    answer = read(text)
    assert answer.problems or all(isinstance(proposal.title, str) for proposal in answer.proposals)


@pytest.mark.parametrize("n", [1, 2, 57])
def test_the_schema_takes_legal_answers_and_no_others(n):
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema(n))
    assert validator.is_valid(json.loads(sections(("A", 1, 0, n))))
    for row in [
        ("", 1, 0, n),
        ("A", 0, 0, n),
        ("A", MAX_DEPTH + 1, 0, n),
        ("A", 1, -1, n),
        ("A", 1, 0, n + 1),
        ("A", 1, n, n),
    ]:
        assert not validator.is_valid(json.loads(sections(row))), row
    assert not validator.is_valid({"sections": []})
    assert not validator.is_valid({})
