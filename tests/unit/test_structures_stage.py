import polars as pl
import pytest

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.structures import STRUCTURES
from docstructure.corpora.corpus import Heading, Paragraph, assemble, documents_frame, headings_frame
from docstructure.structures.outcome import Flat, StructureError, settle
from docstructure.structures.stage import build_structure
from docstructure.tree import Proposal


@pytest.fixture
def corpus(tmp_path):
    """Twenty documents, of which `break_headings` spoils the first few."""
    documents = [
        assemble(
            f"d{index:02d}", "T", [Paragraph("lead"), Heading(2, "A"), Paragraph("a"), Heading(3, "B"), Paragraph("b")]
        )
        for index in range(20)
    ]
    DOCUMENTS.write(documents_frame(documents), tmp_path / "documents.parquet")
    HEADINGS.write(headings_frame(documents), tmp_path / "headings.parquet")
    return tmp_path


def break_headings(folder, n):
    headings = HEADINGS.read(folder / "headings.parquet")
    spoilt = pl.col("doc_id").is_in([f"d{index:02d}" for index in range(n)]) & (pl.col("section") == 2)
    HEADINGS.write(
        headings.with_columns(par_end=pl.when(spoilt).then(9).otherwise(pl.col("par_end")).cast(pl.Int32)),
        folder / "headings.parquet",
    )


def build(folder, definition=None, share=0.05, **more):
    build_structure(
        definition=definition or {"native": {}},
        corpus="demo",
        structure="gold",
        documents=str(folder / "documents.parquet"),
        headings=str(folder / "headings.parquet"),
        max_unusable_share=share,
        structures=str(folder / "structures.parquet"),
        sections=str(folder / "sections.parquet"),
        **more,
    )


def test_sections_and_counts_are_written(corpus):
    build(corpus)
    structures, sections = STRUCTURES.read(corpus / "structures.parquet"), SECTIONS.read(corpus / "sections.parquet")
    assert structures["doc_id"].to_list() == [f"d{index:02d}" for index in range(20)]
    assert set(structures["status"]) == {"ok"}
    assert structures["n_sections"].to_list() == [3] * 20
    assert sections.filter(doc_id="d07").select("section", "level", "par_start", "par_end", "start", "end").rows() == [
        (0, 1, 0, 1, 0, 6),
        (1, 1, 1, 2, 6, 9),
        (2, 2, 2, 3, 9, 10),
    ]
    assert sections.filter(doc_id="d07")["path"].to_list() == [[], ["A"], ["A", "B"]]


def test_unusable_documents_within_the_budget_are_listed_and_have_no_sections(corpus):
    break_headings(corpus, 1)
    build(corpus)
    structures = STRUCTURES.read(corpus / "structures.parquet")
    assert structures.filter(status="unusable")["doc_id"].to_list() == ["d00"]
    assert "outside [0, 3)" in structures["reason"][0]
    assert "d00" not in SECTIONS.read(corpus / "sections.parquet")["doc_id"].to_list()


def test_over_the_budget_the_counts_are_written_and_the_stage_fails(corpus):
    break_headings(corpus, 2)
    with pytest.raises(StructureError) as error:
        build(corpus)
    for part in ("corpus demo, structure gold", "2 of 20", "5.0%", "structures.parquet", "d00: ", "d01: "):
        assert part in str(error.value)
    assert STRUCTURES.read(corpus / "structures.parquet")["status"].to_list().count("unusable") == 2
    assert not (corpus / "sections.parquet").exists()


def test_a_corpus_without_headings_names_corpus_structure_and_remedy(corpus):
    HEADINGS.write(HEADINGS.frame([]), corpus / "headings.parquet")
    with pytest.raises(StructureError, match=r"corpus demo, structure gold.*definitions\.corpora\.demo\.structures"):
        build(corpus)


def test_an_inducer_is_never_shown_the_headings(corpus):
    (corpus / "headings.parquet").write_bytes(b"not parquet: reading it would fail")
    build(corpus, {"texttiling": {}}, language="en")
    assert set(STRUCTURES.read(corpus / "structures.parquet")["status"]) == {"ok"}


def test_settle_says_how_a_document_came_through():
    document = Flat("d", "a\n\nb\n\nc", ((0, 1), (3, 4), (6, 7)))
    legal = [Proposal("A", 1, 0, 1), Proposal("B", 2, 1, 3)]
    near = [Proposal("A", 1, 0, 1), Proposal("B", 3, 2, 3)]
    assert settle(document, legal).status == "ok"
    corrected = settle(document, legal, ["a gap"])
    assert (corrected.status, corrected.reason) == ("corrected", "a gap")
    repaired = settle(document, near)
    assert repaired.status == "repaired"
    assert "level 3 after level 1" in repaired.reason
    assert [(section.par_start, section.par_end) for section in repaired.sections] == [(0, 2), (2, 3)]
    lost = settle(document, [Proposal("A", 1, 7, 9)])
    assert (lost.status, lost.sections) == ("unusable", ())
    assert "none of 1" in lost.reason
