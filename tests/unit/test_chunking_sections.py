"""Structural chunks: tilings, bounds, merging that keeps paths true, routing."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking.chunk import ChunkingError
from docstructure.chunking.sections import Limits, Options, Segment, cut, segments
from docstructure.spans import check_tiling
from tests.unit.chunking_cases import assemble, nasty_cases, plain_cases, sentence

LIMITS = Limits(350, 60)


def chunks_of(case, tokenizer, limits=LIMITS):
    return cut(case.ruler(tokenizer), case.segments(), limits)


def texts_of(case, chunks):
    return [case.text[chunk.start : chunk.end] for chunk in chunks]


def prose(tokens, per=20):
    """A paragraph of exactly `tokens` tokens in sentences of `per` or so."""
    sizes = [per] * (tokens // per)
    if tokens % per:
        sizes = [*sizes, tokens % per] if tokens % per >= 2 else [*sizes[:-1], per + 1]
    return " ".join(sentence(size) for size in sizes)


def touched(case, chunk):
    return [i for i, (a, b) in enumerate(case.spans) if a < chunk.end and chunk.start < b]


def test_prose_has_the_tokens_it_says(tokenizer):
    assert [tokenizer.count(prose(n)) for n in (59, 60, 350, 351, 700)] == [59, 60, 350, 351, 700]


@given(case=nasty_cases, t_max=st.integers(8, 60), share=st.floats(0, 0.5))
@settings(max_examples=150, deadline=None)
def test_chunks_tile_keep_t_max_and_tell_the_truth(tokenizer, case, t_max, share):
    limits = Limits(t_max, int(t_max * share))
    chunks = chunks_of(case, tokenizer, limits)
    assert check_tiling([(c.start, c.end) for c in chunks], len(case.text)) == []
    assert "".join(texts_of(case, chunks)) == case.text
    assert [c.n_tokens for c in chunks] == tokenizer.counts(texts_of(case, chunks)).tolist()
    assert max(c.n_tokens for c in chunks) <= t_max
    for chunk in chunks:
        parts = [tuple(case.paths[i]) for i in touched(case, chunk)]
        assert all(part[: len(chunk.path)] == chunk.path for part in parts)
        deeper = {part[: len(chunk.path) + 1] for part in parts}
        assert len(deeper) > 1 or chunk.path in parts  # no deeper common ancestor exists
        assert chunk.top_section in {case.segments()[i].top for i in touched(case, chunk)}


@given(case=plain_cases, t_min=st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_a_small_chunk_is_left_only_where_no_neighbour_can_take_it(tokenizer, case, t_min):
    limits = Limits(2 * t_min + 12, t_min)
    ruler = case.ruler(tokenizer)
    chunks = cut(ruler, case.segments(), limits)
    borders = sorted({*ruler.sentences, *(a for a, _ in case.spans), len(case.text)})
    for left, right in pairwise(chunks):
        if min(left.n_tokens, right.n_tokens) >= t_min:
            continue
        inner = [p for p in borders if left.start < p < right.end]
        for k in range(3):
            for cuts in combinations(inner, k):
                sizes = [tokenizer.count(case.text[a:b]) for a, b in pairwise([left.start, *cuts, right.end])]
                assert max(sizes) > limits.t_max or min(sizes) < t_min or (k == 0 and len(sizes) != 1)


@given(case=plain_cases)
@settings(max_examples=50, deadline=None)
def test_without_t_min_no_chunk_crosses_a_section(tokenizer, case):
    chunks = chunks_of(case, tokenizer, Limits(16, 0))
    assert all(len(touched(case, chunk)) == 1 for chunk in chunks)
    assert {a for a, _ in case.spans} <= {chunk.start for chunk in chunks}


def test_a_section_is_its_own_paragraphs_and_fitting_ones_are_one_chunk(tokenizer):
    case = assemble([(("A",), [prose(100), prose(100)]), (("A", "a"), [prose(200)]), (("B",), [prose(60)])])
    chunks = chunks_of(case, tokenizer)
    assert [c.n_tokens for c in chunks] == [200, 200, 60]
    assert [c.path for c in chunks] == [("A",), ("A", "a"), ("B",)]
    assert [c.top_section for c in chunks] == [0, 0, 2]


def test_a_long_section_is_split_near_equally(tokenizer):
    case = assemble([(("A",), [prose(720)])])
    assert [c.n_tokens for c in chunks_of(case, tokenizer)] == [240, 240, 240]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([59, 200, 100], [259, 100], id="at the start"),
        pytest.param([100, 200, 59], [100, 259], id="at the end"),
        pytest.param([59], [59], id="alone"),
        pytest.param([20, 20], [40], id="whole document small"),
        pytest.param([60, 60], [60, 60], id="just large enough"),
        pytest.param([30, 30, 30, 30], [60, 60], id="a run of small ones"),
        pytest.param([200, 59, 100], [200, 159], id="the smaller neighbour"),
        pytest.param([100, 59, 100], [159, 100], id="the one before where both are equal"),
    ],
)
def test_a_small_section_is_merged(tokenizer, sizes, expected):
    case = assemble([(("A", name), [prose(size)]) for name, size in zip("stuvw", sizes, strict=False)])
    assert [c.n_tokens for c in chunks_of(case, tokenizer)] == expected


def test_merging_stays_inside_the_top_level_section(tokenizer):
    """B's small first part goes to its large sibling, though the small last part of A is nearer in size."""
    case = assemble([(("A",), [prose(70)]), (("B",), [prose(40)]), (("B", "b"), [prose(300)])])
    chunks = chunks_of(case, tokenizer)
    assert [c.path for c in chunks] == [("A",), ("B",)]
    assert [c.top_section for c in chunks] == [0, 1]


def test_merging_tells_top_level_sections_of_the_same_title_apart(tokenizer):
    case = assemble([(("A",), [prose(70)]), (("A",), [prose(40)]), (("A", "b"), [prose(300)])])
    chunks = chunks_of(case, tokenizer)
    assert [(c.n_tokens, c.top_section) for c in chunks] == [(70, 0), (340, 1)]


def test_merging_prefers_the_deepest_common_ancestor(tokenizer):
    case = assemble([(("A", "x"), [prose(70)]), (("A", "y", "1"), [prose(40)]), (("A", "y", "2"), [prose(200)])])
    assert [c.path for c in chunks_of(case, tokenizer)] == [("A", "x"), ("A", "y")]


def test_a_merged_title_does_not_move_to_the_neighbour(tokenizer):
    case = assemble([(("A", "x"), [prose(40)]), (("A", "y"), [prose(100)])])
    assert [c.path for c in chunks_of(case, tokenizer)] == [("A",)]


def test_a_merge_across_top_level_sections_has_an_empty_path_and_routes_with_its_largest_part(tokenizer):
    case = assemble([(("A",), [prose(40)]), (("B",), [prose(100)]), (("C",), [prose(350)])])
    chunks = chunks_of(case, tokenizer)
    assert [(c.path, c.top_section) for c in chunks] == [((), 1), (("C",), 2)]


def test_the_first_of_two_equal_parts_routes(tokenizer):
    case = assemble([(("A",), [prose(50)]), (("B",), [prose(50)])])
    assert [c.top_section for c in chunks_of(case, tokenizer)] == [0]


def test_a_merge_above_t_max_is_split_again(tokenizer):
    case = assemble([(("A", "x"), [prose(40)]), (("A", "y"), [prose(340)])])
    chunks = chunks_of(case, tokenizer)
    assert [c.n_tokens for c in chunks] == [200, 180]
    assert [c.path for c in chunks] == [("A",), ("A", "y")]


def test_a_piece_that_no_neighbour_can_take_stays(tokenizer):
    """The only neighbour is one sentence of 340 tokens: cutting it is worse than a small chunk."""
    case = assemble([(("A", "x"), [sentence(20)]), (("A", "y"), [sentence(340)])])
    assert [c.n_tokens for c in chunks_of(case, tokenizer)] == [20, 340]


def test_the_other_neighbour_is_tried_when_the_first_cannot(tokenizer):
    case = assemble([(("A",), [prose(100)]), (("B", "x"), [sentence(20)]), (("B", "y"), [sentence(340)])])
    chunks = chunks_of(case, tokenizer)
    assert [c.n_tokens for c in chunks] == [120, 340]
    assert chunks[0].path == ()


def test_a_stuck_piece_is_tried_again_when_its_neighbour_changes(tokenizer):
    """20 | 290 + 59 cannot be merged, until 45 behind them makes it 290 | 104."""
    middle = f"{sentence(290)} {sentence(59)}"
    case = assemble([(("A", "x"), [sentence(20)]), (("A", "y"), [middle]), (("A", "z"), [sentence(45)])])
    assert [c.n_tokens for c in chunks_of(case, tokenizer)] == [310, 104]


def test_headings_without_text_still_begin_a_top_level_section():
    """'Methods' and 'Results' have no row of their own: their first rows are of level 2."""
    found = segments(
        [2, 2, 2, 1, 1],
        [["Methods", "a"], ["Methods", "b"], ["Results", "c"], ["End"], ["End"]],
        [(i, i + 1) for i in range(5)],
    )
    assert [segment.top for segment in found] == [0, 0, 2, 3, 4]


def test_text_before_the_first_heading_is_a_section_of_its_own(tokenizer):
    case = assemble([((), [prose(100)]), (("A",), [prose(100)])])
    assert [(c.path, c.top_section) for c in chunks_of(case, tokenizer)] == [((), 0), (("A",), 1)]


def test_sections_of_the_same_name_keep_their_own_spans(tokenizer):
    case = assemble([(("A",), ["This is important. " * 20]), (("A",), ["This is important. " * 20])])
    chunks = chunks_of(case, tokenizer)
    assert [c.start for c in chunks] == [a for a, _ in case.spans]
    assert [c.top_section for c in chunks] == [0, 1]


@pytest.mark.parametrize("paragraph", ["", "\u200b", "\u00a0\u00a0", "👩\u200d👩\u200d👧"])
def test_paragraphs_with_next_to_nothing_are_kept(tokenizer, paragraph):
    case = assemble([(("A",), [prose(100)]), (("B",), [paragraph, paragraph]), (("C",), [prose(100)])])
    chunks = chunks_of(case, tokenizer)
    assert "".join(texts_of(case, chunks)) == case.text
    assert len(chunks) == 2


def test_a_document_without_one_token_is_one_chunk(tokenizer):
    case = assemble([(("A",), ["\u200b"]), (("B",), ["\u200b"])])
    assert [(c.n_tokens, c.path) for c in chunks_of(case, tokenizer)] == [(0, ())]


def test_white_space_between_paragraphs_belongs_to_the_chunk_before(tokenizer):
    case = assemble([(("A",), [prose(200), prose(200)]), (("B",), [prose(100)])])
    texts = texts_of(case, chunks_of(case, tokenizer))
    assert all(text.endswith("\n\n") for text in texts[:-1])
    assert not any(text[0].isspace() for text in texts)


def test_code_tabs_and_hard_spaces_are_kept(tokenizer):
    code = "```\n# not a heading\n\n\n\tindented\u00a0text\r\n```"
    case = assemble([(("A",), [code] * 30)])
    assert "".join(texts_of(case, chunks_of(case, tokenizer))) == case.text


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ([Segment(0, 3, ("A",), 0)], "end at 3"),
        ([Segment(0, 3, ("A",), 0), Segment(4, 9, ("B",), 1)], "gap"),
        ([], "end at 0"),
    ],
)
def test_sections_that_do_not_tile_are_refused(tokenizer, sections, message):
    case = assemble([(("A",), ["Nine char"])])
    with pytest.raises(ChunkingError, match=message):
        cut(case.ruler(tokenizer), sections, LIMITS)


@pytest.mark.parametrize(("t_max", "t_min"), [(100, 60), (0, 0), (10, -1)])
def test_limits_that_cannot_be_kept_are_refused(t_max, t_min):
    with pytest.raises(ValueError, match=r"t_min|t_max"):
        Limits(t_max, t_min)


def test_options_name_a_structure():
    with pytest.raises(ValueError, match="structure"):
        Options("")
