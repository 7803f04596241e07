import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.queries import QUERIES
from docstructure.corpora.corpus import (
    Corpus,
    Document,
    Heading,
    Item,
    Paragraph,
    Query,
    Section,
    assemble,
    documents_frame,
    funnel_frame,
    headings_frame,
    queries_frame,
    verify,
)
from docstructure.corpora.evidence import find_quote

blocks = st.lists(
    st.one_of(
        st.builds(Heading, st.integers(1, 6), st.sampled_from(["", " ", "A", "B", "C\nC"])),
        st.builds(Paragraph, st.sampled_from(["", " \u00a0", "one", "one", "two\n\ntwo", "日本🙂", " kept "])),
    ),
    max_size=14,
)


def tree(blocks):
    """Nesting by rank, written the other way round: each section looks up for its parents."""
    rows, open_headings, own = [], [], []
    started = False
    for block in [*blocks, None]:
        heading = isinstance(block, Heading) and block.title.strip()
        if block is None or heading:
            if started or own:
                path = tuple(
                    title
                    for index, (rank, title) in enumerate(open_headings)
                    if all(rank < later for later, _ in open_headings[index + 1 :])
                )
                rows.append((path, list(own)))
            own = []
            if heading:
                open_headings.append((block.rank, " ".join(block.title.split())))
                started = True
        elif isinstance(block, Paragraph) and block.text.strip():
            own.append(block.text)
    return rows


@given(blocks)
def test_paragraphs_make_up_the_text_and_sections_tile_them(given_blocks):
    document = assemble("d", "T", given_blocks)
    texts = [block.text for block in given_blocks if isinstance(block, Paragraph) and block.text.strip()]
    assert [document.text[slice(*span)] for span in document.paragraphs] == texts
    assert document.text == "\n\n".join(texts)
    assert [
        (
            section.path,
            [document.text[slice(*span)] for span in document.paragraphs[section.par_start : section.par_end]],
        )
        for section in document.sections
    ] == tree(given_blocks)
    if texts:
        assert verify(Corpus([document], [])) == []


def test_equal_paragraphs_have_their_own_spans():
    document = assemble("d", "T", [Paragraph("same"), Heading(1, "A"), Paragraph("same")])
    assert document.paragraphs == ((0, 4), (6, 10))


def test_offsets_are_code_points():
    document = assemble("d", "T", [Paragraph("👩‍👩‍👧 “q”"), Paragraph("日本語")])
    assert document.paragraphs == ((0, 9), (11, 14))
    assert document.text[11:14] == "日本語"


BOOK = assemble(
    "d",
    "T",
    [
        Paragraph("lead"),
        Heading(2, "A"),
        Heading(3, "B"),
        Paragraph("b1"),
        Paragraph("b2"),
        Heading(3, "C"),
        Paragraph("c"),
        Heading(2, "D"),
        Heading(2, "A"),
        Paragraph("again"),
        Heading(3, "B"),
        Paragraph("b3"),
    ],
)


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        (["A"], ["b1\n\nb2\n\nc", "again\n\nb3"]),
        (["A", "B"], ["b1\n\nb2", "b3"]),
        (["A", "C"], ["c"]),
        (["D"], []),
        (["B"], []),
        (["A", "B", "C"], []),
        ([], ["lead\n\nb1\n\nb2\n\nc\n\nagain\n\nb3"]),
    ],
)
def test_a_subtree_is_a_section_with_its_subsections(path, texts):
    assert [BOOK.text[slice(*span)] for span in BOOK.subtree(path)] == texts


def test_sections_with_one_path_side_by_side_are_two():
    document = assemble("d", "T", [Heading(1, "A"), Paragraph("x"), Heading(1, "A"), Paragraph("y")])
    assert document.subtree(["A"]) == [(0, 1), (3, 4)]


def test_a_span_of_the_source_is_translated_paragraph_by_paragraph():
    source = "# H\n\nfirst\n\n## I\n\nsecond\n"
    document = assemble(
        "d",
        "T",
        [Heading(1, "H"), Paragraph("first", 5), Heading(2, "I"), Paragraph("second", 18), Paragraph("made up")],
    )
    for start in range(len(source) + 1):
        for end in range(start, len(source) + 1):
            found = "".join(document.text[slice(*span)] for span in document.from_origin(start, end))
            assert found == "".join(source[i] for i in range(start, end) if 5 <= i < 10 or 18 <= i < 24)


def sound(**change):
    document = assemble("d", "T", [Heading(1, "A"), Paragraph("one"), Paragraph("two")])
    fields = {name: getattr(document, name) for name in Document.__dataclass_fields__}
    return Document(**{**fields, **change})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (sound(doc_id="a b"), "white space"),
        (sound(doc_id=""), "white space"),
        (sound(paragraphs=(), text="", sections=(), origins=()), "no paragraph"),
        (sound(text="one\n\ntwo "), "do not make up its text"),
        (sound(paragraphs=((0, 3), (4, 8))), "do not make up its text"),
        (sound(sections=(Section(("A",), 0, 1),)), "end at paragraph 1 of 2"),
        (sound(sections=(Section(("A",), 0, 1), Section(("B",), 0, 2))), "section B does not begin"),
        (sound(sections=(Section((), 1, 2),)), r"section \(lead\) does not begin"),
    ],
)
def test_verify_finds_what_is_wrong_with_a_document(document, message):
    assert verify(Corpus([sound()], [])) == []
    found = verify(Corpus([document], []))
    assert any(re.search(message, problem) for problem in found), found


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query("q", "ghost", "?", "t", ((0, 1),)), "ghost is not in the corpus"),
        (Query("q", "d", "?", "t", ()), "no evidence"),
        (Query("q", "d", "?", "t", ((0, 9),)), "outside"),
        (Query("q", "d", "?", "t", ((2, 2),)), "outside"),
        (Query("q", "d", "?", "t", ((3, 5),)), "only white space"),
    ],
)
def test_verify_finds_what_is_wrong_with_a_query(query, message):
    found = verify(Corpus([sound()], [query]))
    assert len(found) == 1
    assert message in found[0]


def test_verify_reports_everything_at_once():
    queries = [Query("q", "d", "?", "t", ((0, 1),)), Query("q", "d", "?", "t", ())]
    assert len(verify(Corpus([sound(), sound()], queries))) == 3
    assert verify(Corpus([], [])) == ["the corpus has no document"]


def test_frames_keep_their_contracts():
    plain = assemble("plain", "T", [Paragraph("x")])
    spans = ((5, 8), (0, 3), (2, 4))
    frame = queries_frame([Query("q", "d", "?", "t", spans)])
    assert QUERIES.check(frame, "q")["spans"].to_list() == [[{"start": 0, "end": 4}, {"start": 5, "end": 8}]]
    assert DOCUMENTS.check(documents_frame([sound(), plain]), "d").height == 2
    headings = HEADINGS.check(headings_frame([sound(), plain]), "h")
    assert headings["doc_id"].to_list() == ["d"], "a document without headings has no row"
    assert FUNNEL.check(funnel_frame([Item("a", True), Item("b", False, "short")]), "f").height == 2


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("abc abc", "abc", [(0, 3), (4, 7)]),
        ("aaa", "aa", [(0, 2), (1, 3)]),
        ("a\n\n  b c", "a b", [(0, 6)]),
        ("1+1=2 (really)", "1+1=2 (really)", [(0, 14)]),
        ("Abc", "abc", []),
        ("abc", " \n", []),
    ],
)
def test_quotes_are_found_everywhere_they_stand(text, quote, expected):
    assert find_quote(text, quote) == expected
