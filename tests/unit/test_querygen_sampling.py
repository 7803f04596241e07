"""Gold spans as the pipeline draws them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.querygen.sampling import TYPES, Sizes, Source, TopSection, sample, top_sections
from tests.unit.chunking_cases import nasty_cases, plain_cases

SMALL = Sizes(span_min=10, span_max=60, section_min=20)


def source_of(case, doc_id="d", title="Title"):
    starts = [start for start, _ in case.paragraphs]
    firsts = [next(i for i, at in enumerate(starts) if at == span[0]) for span in case.spans]
    bounds = list(zip(firsts, [*firsts[1:], len(starts)], strict=True))
    return Source(
        doc_id, title, case.text, tuple(case.paragraphs), tuple(top_sections(case.paths, case.levels, bounds))
    )


def section_at(source, position):
    paragraph = max(i for i, (start, _) in enumerate(source.paragraphs) if start <= position)
    (found,) = [s for s in source.sections if s.par_start <= paragraph < s.par_end]
    return found


@given(case=nasty_cases | plain_cases, seed=st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_spans_are_what_their_type_says(case, seed):
    source = source_of(case)
    drafts = sample(source, dict.fromkeys(TYPES, 3), SMALL, "en", seed)
    assert [draft.query_id for draft in drafts] == [f"d:{type_}:{n}" for type_ in TYPES for n in (1, 2, 3)]
    for draft in drafts:
        assert bool(draft.spans) != bool(draft.reason)
        for (start, end), heading in zip(draft.spans, draft.headings, strict=True):
            text = source.text[start:end]
            assert text == text.strip() != ""
            assert section_at(source, start).title == heading
            if draft.type == "structural":
                section = section_at(source, start)
                last = source.paragraphs[section.par_end - 1][1]
                assert source.text[source.paragraphs[section.par_start][0] : start].strip() == ""
                assert source.text[end:last].strip() == ""
                assert heading
                assert end - start >= SMALL.section_min
            else:
                assert SMALL.span_min <= end - start <= SMALL.span_max
                assert sum(a <= start and end <= b for a, b in source.paragraphs) == 1
        if draft.type == "multihop" and draft.spans:
            first, second = (section_at(source, start) for start, _ in draft.spans)
            assert first != second
            assert first.title
            assert second.title
            assert draft.spans[0][1] <= draft.spans[1][0]
    for type_ in TYPES:
        drawn = [draft.spans for draft in drafts if draft.type == type_ and draft.spans]
        assert len(set(drawn)) == len(drawn)


def article(doc_id="d", n_sections=4):
    paragraphs, sections, position, parts = [], [], 0, []
    for number in range(n_sections):
        for index in range(3):
            text = " ".join(f"Sentence {number}{index}{k} says something that is quite long." for k in range(6))
            parts.append(text)
            paragraphs.append((position, position + len(text)))
            position += len(text) + 2
        sections.append(TopSection(f"S{number}", 3 * number, 3 * number + 3))
    return Source(doc_id, "T", "\n\n".join(parts), tuple(paragraphs), tuple(sections))


def test_the_draw_depends_on_seed_and_document_alone():
    types = dict.fromkeys(TYPES, 3)
    one = sample(article(), types, Sizes(), "en", 1)
    assert one == sample(article(), types, Sizes(), "en", 1)
    assert [d.spans for d in one] != [d.spans for d in sample(article(), types, Sizes(), "en", 2)]
    assert [d.spans for d in one] != [d.spans for d in sample(article("e"), types, Sizes(), "en", 1)]
    # a type's draw does not depend on which other types are asked for
    assert [d.spans for d in one if d.type == "multihop"] == [
        d.spans for d in sample(article(), {"multihop": 3}, Sizes(), "en", 1)
    ]
    # more queries: the first ones stay
    more = sample(article(), dict.fromkeys(TYPES, 4), Sizes(), "en", 1)
    assert {d.query_id: d.spans for d in one}.items() <= {d.query_id: d.spans for d in more}.items()


def test_what_a_document_does_not_have_is_said():
    drafts = sample(article(n_sections=1), dict.fromkeys(TYPES, 4), Sizes(), "en", 1)
    by_type = {type_: [d for d in drafts if d.type == type_] for type_ in TYPES}
    assert [bool(d.spans) for d in by_type["factoid"]] == [True, True, True, False]
    assert by_type["factoid"][3].reason.endswith("found 3 times")
    assert all("two top-level sections" in d.reason for d in by_type["multihop"])
    assert all("one of several" in d.reason for d in by_type["structural"])


def test_text_before_any_heading_is_no_section_to_ask_for():
    whole = article(n_sections=3)
    lead = Source("d", "T", whole.text, whole.paragraphs, (TopSection("", 0, 3), *whole.sections[1:]))
    drafts = sample(lead, {"structural": 3, "multihop": 3}, Sizes(), "en", 1)
    assert sorted(d.headings for d in drafts if d.spans) == [("S1",), ("S1", "S2"), ("S2",)]


def test_a_top_level_section_holds_its_subsections():
    paths = [[], ["A"], ["A", "B"], ["C", "D"], ["C", "E"], ["C"], ["A"]]
    levels = [1, 1, 2, 2, 2, 1, 1]
    bounds = [(i, i + 1) for i in range(7)]
    assert top_sections(paths, levels, bounds) == [
        TopSection("", 0, 1),
        TopSection("A", 1, 3),
        TopSection("C", 3, 5),
        TopSection("C", 5, 6),
        TopSection("A", 6, 7),
    ]


@pytest.mark.parametrize("wrong", [{"span_min": 0}, {"span_min": 9, "span_max": 8}, {"section_min": 0}])
def test_sizes_are_validated(wrong):
    with pytest.raises(ValueError, match=r"span_min|section_min"):
        Sizes(**wrong)
