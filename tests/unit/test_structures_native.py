import polars as pl
import pytest

from docstructure.contracts.headings import HEADINGS
from docstructure.corpora.corpus import Heading, Paragraph, assemble, headings_frame
from docstructure.structures.native import Options, induce
from docstructure.structures.outcome import Flat, StructureError


def induced(*documents):
    flat = [Flat(document.doc_id, document.text, document.paragraphs) for document in documents]
    return list(induce(Options(), flat, headings_frame(documents), "en"))


def text_of(document, section):
    return document.text[section.start : section.end]


def test_sections_are_the_authors_headings():
    document = assemble(
        "d",
        "T",
        [
            Paragraph("lead"),
            Heading(2, "A"),
            Paragraph("a"),
            Heading(3, "B"),
            Paragraph("b"),
            Heading(2, "C"),
            Paragraph("c"),
        ],
    )
    (outcome,) = induced(document)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert [(section.path, section.level) for section in outcome.sections] == [
        ((), 1),
        (("A",), 1),
        (("A", "B"), 2),
        (("C",), 1),
    ]
    assert [text_of(document, section) for section in outcome.sections] == ["lead\n\n", "a\n\n", "b\n\n", "c"]


def test_consecutive_headings_without_body_stay_in_the_path():
    blocks = [
        Heading(2, "A"),
        Heading(3, "B"),
        Heading(4, "C"),
        Paragraph("c"),
        Heading(2, "D"),
        Heading(2, "E"),
        Paragraph("e"),
    ]
    (outcome,) = induced(assemble("d", "T", blocks))
    assert [section.path for section in outcome.sections] == [("A", "B", "C"), ("E",)]
    assert [section.level for section in outcome.sections] == [3, 1]


def test_a_last_heading_without_body_makes_no_section():
    (outcome,) = induced(assemble("d", "T", [Heading(2, "A"), Paragraph("a"), Heading(2, "Z")]))
    assert [section.path for section in outcome.sections] == [("A",)]


def test_true_depth_stays_in_the_path_and_the_level_is_clamped():
    blocks = [block for rank in range(1, 7) for block in (Heading(rank, f"H{rank}"), Paragraph("p"))]
    (outcome,) = induced(assemble("d", "T", blocks))
    assert [section.level for section in outcome.sections] == [1, 2, 3, 4, 4, 4]
    assert len(outcome.sections[-1].path) == 6


def test_the_same_paragraph_in_two_sections_has_its_own_span():
    blocks = [Heading(2, "A"), Paragraph("This is important."), Heading(2, "B"), Paragraph("This is important.")]
    (outcome,) = induced(assemble("d", "T", blocks))
    assert [(section.start, section.end) for section in outcome.sections] == [(0, 20), (20, 38)]


def test_a_document_without_headings_is_one_section_with_an_empty_path():
    plain = assemble("plain", "T", [Paragraph("a"), Paragraph("b")])
    other = assemble("other", "T", [Heading(2, "A"), Paragraph("a")])
    first, second = induced(plain, other)
    assert [(s.path, s.level, s.par_start, s.par_end, s.start, s.end) for s in first.sections] == [((), 1, 0, 2, 0, 4)]
    assert second.sections[0].path == ("A",)


def test_headings_that_do_not_fit_the_paragraphs_are_unusable_with_every_violation():
    flat = [Flat("d", "a\n\nb\n\nc", ((0, 1), (3, 4), (6, 7)))]
    headings = HEADINGS.frame(
        [
            {"doc_id": "d", "section": 0, "path": ["A"], "par_start": 0, "par_end": 1},
            {"doc_id": "d", "section": 1, "path": ["B"], "par_start": 2, "par_end": 9},
        ]
    )
    (outcome,) = induce(Options(), flat, headings, "en")
    assert outcome.status == "unusable"
    assert outcome.sections == ()
    assert "gap [1, 2)" in outcome.reason
    assert "and 1 more" in outcome.reason


def test_a_corpus_without_any_heading_is_an_error():
    flat = [Flat("d", "a", ((0, 1),))]
    with pytest.raises(StructureError, match="a structure that it does not have"):
        list(induce(Options(), flat, HEADINGS.frame([]), "en"))


def test_headings_of_unknown_documents_are_an_error():
    document = assemble("d", "T", [Heading(2, "A"), Paragraph("a")])
    headings = headings_frame([document]).with_columns(doc_id=pl.lit("ghost"))
    with pytest.raises(StructureError, match="ghost"):
        list(induce(Options(), [Flat("d", "a", ((0, 1),))], headings, "en"))
