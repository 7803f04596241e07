import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.tree import (
    MAX_LEVEL,
    Proposal,
    Section,
    Unusable,
    assemble,
    clamp,
    place,
    repair,
    verify,
    violations,
)


def table(n):
    """Paragraphs of ten characters joined by a blank line, and the length of the text."""
    return [(12 * index, 12 * index + 10) for index in range(n)], 12 * n - 2


def proposals(*rows):
    return [Proposal(*row) for row in rows]


@st.composite
def legal(draw):
    """Legal proposals: own lengths (0 only directly above a deeper one) and levels that rise by one at most."""
    n = draw(st.integers(1, 12))
    levels = [1]
    for _ in range(n - 1):
        levels.append(draw(st.integers(1, levels[-1] + 1)))
    rows, position = [], 0
    for index, level in enumerate(levels):
        above = index + 1 < n and levels[index + 1] > level
        size = draw(st.integers(0 if above else 1, 4))
        rows.append(Proposal(draw(st.sampled_from(["A", "B", "C [x]"])), level, position, position + size))
        position += size
    return rows, position


anything = st.lists(
    st.builds(
        Proposal,
        st.sampled_from(["", " ", "A", "B", "Ünï"]),
        st.integers(-2, 9),
        st.integers(-4, 16),
        st.integers(-4, 16),
    ),
    max_size=12,
)


@given(legal())
def test_legal_proposals_have_no_violation_and_are_left_alone(case):
    rows, n = case
    assert violations(rows, n) == []
    assert repair(rows, n) == tuple(rows)
    paragraphs, length = table(n)
    assert verify(assemble(rows, paragraphs, length), paragraphs, length) == []


@given(anything, st.integers(1, 12))
def test_repair_gives_a_legal_tiling_or_a_reason_and_is_idempotent(rows, n):
    try:
        repaired = repair(rows, n, min_covered=0.0)
    except Unusable:
        inside = [
            row
            for row in rows
            if row.title.strip() and set(range(*sorted((row.par_start, row.par_end)))) & set(range(n))
        ]
        assert inside == [], "something could have been built on"
        return
    assert violations(repaired, n) == []
    assert repair(repaired, n) == repaired
    paragraphs, length = table(n)
    sections = assemble(repaired, paragraphs, length)
    assert verify(sections, paragraphs, length) == []
    covered = [index for section in sections for index in range(section.par_start, section.par_end)]
    assert covered == list(range(n))
    assert "".join("x" * (section.end - section.start) for section in sections) == "x" * length
    assert {row.title for row in repaired} <= {row.title for row in rows}


@pytest.mark.parametrize(
    ("given_rows", "n", "expected"),
    [
        pytest.param([("A", 1, 0, 4), ("B", 1, 3, 6)], 6, [("A", 1, 0, 3), ("B", 1, 3, 6)], id="overlap"),
        pytest.param([("A", 1, 0, 2), ("B", 1, 4, 6)], 6, [("A", 1, 0, 4), ("B", 1, 4, 6)], id="gap"),
        pytest.param([("A", 1, 1, 2), ("B", 1, 2, 5)], 6, [("A", 1, 0, 2), ("B", 1, 2, 6)], id="both ends open"),
        pytest.param([("A", 1, 3, 0), ("B", 1, 3, 6)], 6, [("A", 1, 0, 3), ("B", 1, 3, 6)], id="reversed"),
        pytest.param([("A", 1, -3, 3), ("B", 1, 3, 99)], 6, [("A", 1, 0, 3), ("B", 1, 3, 6)], id="out of bounds"),
        pytest.param([("A", 1, 0, 6), ("B", 1, 6, 9)], 6, [("A", 1, 0, 6)], id="beyond the end"),
        pytest.param([("B", 1, 3, 6), ("A", 1, 0, 3)], 6, [("A", 1, 0, 3), ("B", 1, 3, 6)], id="out of order"),
        pytest.param([("A", 1, 0, 3), ("A", 1, 0, 3), ("B", 1, 3, 6)], 6, [("A", 1, 0, 3), ("B", 1, 3, 6)], id="twice"),
        pytest.param(
            [("A", 1, 0, 3), (" ", 1, 3, 4), ("B", 1, 4, 6)], 6, [("A", 1, 0, 4), ("B", 1, 4, 6)], id="untitled"
        ),
        pytest.param([("A", 1, 0, 3), ("X", 1, 3, 3), ("B", 1, 3, 6)], 6, [("A", 1, 0, 3), ("B", 1, 3, 6)], id="empty"),
        pytest.param([("A", 3, 0, 6)], 6, [("A", 1, 0, 6)], id="first level"),
        pytest.param(
            [("A", 1, 0, 2), ("B", 3, 2, 4), ("C", 3, 4, 6)],
            6,
            [("A", 1, 0, 2), ("B", 2, 2, 4), ("C", 2, 4, 6)],
            id="jump: siblings stay siblings",
        ),
        pytest.param(
            [("A", 1, 0, 6), ("B", 2, 0, 2), ("C", 2, 2, 6)],
            6,
            [("A", 1, 0, 0), ("B", 2, 0, 2), ("C", 2, 2, 6)],
            id="a parent that spans its children",
        ),
    ],
)
def test_repair_snaps(given_rows, n, expected):
    rows = proposals(*given_rows)
    assert violations(rows, n) != []
    assert repair(rows, n) == tuple(proposals(*expected))


def test_every_violation_is_reported_with_its_section():
    rows = proposals(("", 2, 1, 3), ("B", 0, 2, 2), ("C", 4, 5, 4), ("D", 1, 6, 99))
    found = violations(rows, 9)
    for part in (
        "section 0 (''): the title is empty",
        "section 0 (''): level 2 after level 0",
        "section 0 (''): paragraphs [0, 1) before it are in no section",
        "section 1 ('B'): it has no paragraph",
        "section 1 ('B'): level 0 is below 1",
        "section 1 ('B'): it begins at paragraph 2, the section before it ends at 3",
        "section 2 ('C'): paragraphs [5, 4) are reversed",
        "section 2 ('C'): level 4 after level 0",
        "section 3 ('D'): paragraphs [6, 99) are outside [0, 9)",
    ):
        assert any(problem.startswith(part) for problem in found), (part, found)
    assert violations(proposals(("A", 1, 0, 2)), 5) == ["paragraphs [2, 5) at the end are in no section"]
    assert violations([], 5) == ["there is no section"]


@pytest.mark.parametrize(
    ("rows", "n", "reason"),
    [
        ([], 5, "none of 0"),
        ([("", 1, 0, 5)], 5, "none of 1"),
        ([("A", 1, 7, 9)], 5, "none of 1"),
        ([("A", 1, 0, 4)], 10, "cover 4 of 10"),
        ([("A", 1, 0, 4)], 0, "no paragraph"),
    ],
)
def test_what_is_not_near_valid_is_unusable_with_a_reason(rows, n, reason):
    with pytest.raises(Unusable, match=reason):
        repair(proposals(*rows), n)


def test_overlaps_are_not_counted_twice_as_coverage():
    with pytest.raises(Unusable, match="cover 4 of 10"):
        repair(proposals(("A", 1, 0, 4), ("B", 2, 1, 3), ("C", 2, 0, 4)), 10)


def test_ten_thousand_sections():
    rows = [Proposal(f"S{index}", 1 + index % 3, index * 2, index * 2 + 3) for index in range(10_000)]
    repaired = repair(rows, 20_000)
    paragraphs, length = table(20_000)
    sections = assemble(repaired, paragraphs, length)
    assert len(sections) == 10_000
    assert verify(sections, paragraphs, length) == []


def test_the_clamp_bounds_the_stored_level_only():
    assert [clamp(depth) for depth in range(7)] == [1, 1, 2, 3, 4, 4, 4]
    rows = [Proposal(name, level, level - 1, level) for level, name in enumerate("ABCDEF", 1)]
    paragraphs, length = table(6)
    sections = assemble(rows, paragraphs, length)
    assert [section.level for section in sections] == [1, 2, 3, 4, 4, 4]
    assert sections[-1].path == tuple("ABCDEF")
    assert verify(sections, paragraphs, length) == []
    assert verify([replace(sections[0], level=2), *sections[1:]], paragraphs, length) != []
    assert any(
        "outside 1..4" in problem
        for problem in verify([*sections[:5], replace(sections[5], level=6)], paragraphs, length)
    )


def test_the_blank_line_belongs_to_the_section_before():
    paragraphs = [(0, 3), (5, 8), (10, 14)]
    sections = assemble(proposals(("A", 1, 0, 1), ("B", 1, 1, 3)), paragraphs, 14)
    assert [(section.start, section.end) for section in sections] == [(0, 5), (5, 14)]


def test_headings_without_text_live_on_in_paths():
    paragraphs, length = table(3)
    sections = assemble(proposals(("A", 1, 0, 0), ("B", 2, 0, 1), ("C", 2, 1, 3)), paragraphs, length)
    assert [section.path for section in sections] == [("A", "B"), ("A", "C")]


def test_assemble_refuses_illegal_proposals():
    with pytest.raises(ValueError, match="in no section"):
        assemble(proposals(("A", 1, 0, 2)), *table(3))


SOUND = assemble(proposals(("A", 1, 0, 2), ("B", 2, 2, 3), ("C", 1, 3, 5)), *table(5))


@pytest.mark.parametrize(
    ("index", "change", "message"),
    [
        (1, {"start": SOUND[1].start + 1}, "char offsets"),
        (1, {"end": SOUND[1].end - 2}, "char offsets"),
        (1, {"par_end": 4}, "overlaps"),
        (1, {"par_start": 3}, "gap"),
        (2, {"par_end": 6}, r"outside \[0, 5\)"),
        (2, {"par_end": 4}, "end at 4"),
        (0, {"par_start": -1}, "empty or outside"),
        (1, {"level": 0}, "outside 1..4"),
        (1, {"level": 1}, "disagrees"),
        (1, {"path": ("A", " ")}, "title is empty"),
        (1, {"path": (), "level": 1}, "no title"),
    ],
)
def test_every_planted_violation_is_found(index, change, message):
    paragraphs, length = table(5)
    assert verify(SOUND, paragraphs, length) == []
    broken = [replace(section, **change) if at == index else section for at, section in enumerate(SOUND)]
    found = verify(broken, paragraphs, length)
    assert any(re.search(message, problem) for problem in found), found


def test_all_violations_are_returned_not_the_first():
    paragraphs, length = table(5)
    broken = [replace(SOUND[0], level=9), SOUND[1], replace(SOUND[2], end=length - 1)]
    found = verify(broken, paragraphs, length)
    assert any(problem.startswith("section 0") for problem in found)
    assert any(problem.startswith("section 2") for problem in found)
    assert verify([], paragraphs, length) == ["there is no section"]


@given(st.integers(1, 8), st.data())
def test_text_before_any_heading_has_an_empty_path_and_level_1(n, data):
    cut = data.draw(st.integers(0, n))
    paragraphs, length = table(n)
    sections = place([((), 0, cut), (("A",), cut, n)], paragraphs, length)
    assert verify(sections, paragraphs, length) == []
    assert all(isinstance(section, Section) and 1 <= section.level <= MAX_LEVEL for section in sections)
    assert len(sections) == (cut > 0) + (cut < n)
