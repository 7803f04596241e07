"""The chunking stages, from artifact to artifact."""

import polars as pl
import pytest

from docstructure.chunking.chunk import Chunk, ChunkingError, to_frame
from docstructure.chunking.stage import build_section_chunks, build_window_chunks, measure_edges
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contract import ContractError
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.sections import SECTIONS
from docstructure.spans import check_tiling
from tests.conftest import TOKENIZER
from tests.unit.chunking_cases import NASTY, assemble, sentence

CASES = {
    "b/nasty": assemble([(("A",), list(NASTY) * 6), (("B", "b"), list(NASTY)), (("B", "c"), [NASTY[3]])]),
    "a:plain": assemble([((), [sentence(30)] * 20), (("X",), [sentence(25)] * 3), (("X", "y"), [sentence(9)])]),
    "out": assemble([(("A",), ["Not eligible."])]),
}


@pytest.fixture
def inputs(tmp_path, tokenizer, monkeypatch):
    """Documents, sections and eligibility of the cases; rows deliberately not in order."""
    monkeypatch.setattr("docstructure.chunking.stage.load_tokenizer", lambda spec: tokenizer)
    documents = [
        {"doc_id": d, "title": "", "text": c.text, "paragraphs": [{"start": a, "end": b} for a, b in c.paragraphs]}
        for d, c in CASES.items()
    ]
    sections = [
        {
            "doc_id": d,
            "section": i,
            "level": level,
            "path": path,
            "par_start": i,
            "par_end": i + 1,
            "start": a,
            "end": b,
        }
        for d, c in CASES.items()
        for i, (level, path, (a, b)) in enumerate(zip(c.levels, c.paths, c.spans, strict=True))
    ]
    rows = {
        "documents": (DOCUMENTS, [{**row, "source": None, "topic": None} for row in documents]),
        "sections": (SECTIONS, sections[::-1]),
        "eligible": (
            ELIGIBLE,
            [{"doc_id": d, "eligible": d != "out", "reason": "why" if d == "out" else ""} for d in sorted(CASES)],
        ),
    }
    for name, (contract, row) in rows.items():
        contract.write(contract.frame(row), tmp_path / f"{name}.parquet")
    return {name: str(tmp_path / f"{name}.parquet") for name in rows}


def run_sections(inputs, out, **changes):
    settings = {"tokenizer": TOKENIZER, "language": "en", "t_max": 350, "t_min": 60, "chunks": str(out)}
    build_section_chunks(**{**inputs, **settings, **changes})
    return CHUNKS.read(out)


def run_windows(inputs, matched, out, **changes):
    settings = {"tokenizer": TOKENIZER, "language": "en", "snap_tokens": 15, "snap_fallback": "token"}
    given = {key: inputs[key] for key in ("documents", "eligible")}
    build_window_chunks(**{**given, **settings, "matched": str(matched), "chunks": str(out), **changes})
    return CHUNKS.read(out)


def test_both_sets_tile_the_eligible_documents_and_match(inputs, tmp_path, tokenizer):
    structural = run_sections(inputs, tmp_path / "induced.parquet")
    fixed = run_windows(inputs, tmp_path / "induced.parquet", tmp_path / "fixed.parquet")
    for frame in (structural, fixed):
        assert frame["doc_id"].unique(maintain_order=True).to_list() == ["b/nasty", "a:plain"]
        for (doc_id,), rows in frame.group_by("doc_id"):
            text = CASES[doc_id].text
            assert check_tiling(list(zip(rows["start"], rows["end"], strict=True)), len(text)) == []
            slices = [text[a:b] for a, b in zip(rows["start"], rows["end"], strict=True)]
            assert rows["n_tokens"].to_list() == tokenizer.counts(slices).tolist()
    assert structural["n_tokens"].max() <= 350
    assert structural["n_tokens"].min() >= 60
    counts = [frame.group_by("doc_id").len().sort("doc_id") for frame in (structural, fixed)]
    assert counts[0].equals(counts[1])
    assert fixed["path"].null_count() == fixed["top_section"].null_count() == fixed.height
    assert structural["path"].null_count() == structural["top_section"].null_count() == 0


def test_the_chunks_do_not_depend_on_company_or_row_order(inputs, tmp_path):
    whole = run_sections(inputs, tmp_path / "whole.parquet")
    lonely = ELIGIBLE.read(inputs["eligible"]).with_columns(
        eligible=pl.col("doc_id") == "a:plain",
        reason=pl.when(pl.col("doc_id") == "a:plain").then(pl.lit("")).otherwise(pl.lit("x")),
    )
    ELIGIBLE.write(lonely, inputs["eligible"])
    alone = run_sections(inputs, tmp_path / "alone.parquet")
    assert alone.equals(whole.filter(pl.col("doc_id") == "a:plain"))


def test_two_runs_give_the_same_bytes(inputs, tmp_path):
    for name in ("one", "two"):
        run_sections(inputs, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_edges_are_reported_per_document(inputs, tmp_path):
    structural = run_sections(inputs, tmp_path / "induced.parquet")
    settings = {
        "tokenizer": TOKENIZER,
        "language": "en",
        "snap_fallback": "token",
        "matched": str(tmp_path / "induced.parquet"),
    }
    given = {key: inputs[key] for key in ("documents", "eligible")}
    none, some = (measure_edges(**given, **settings, snap_tokens=snap) for snap in (0, 400))
    assert none["n_edges"].to_list() == [n - 1 for n in structural.group_by("doc_id", maintain_order=True).len()["len"]]
    assert (some["n_in_reach"] == some["n_edges"]).all()
    assert none["n_in_reach"].sum() < some["n_in_reach"].sum()


def test_an_eligible_document_without_sections_is_an_error(inputs, tmp_path):
    sections = SECTIONS.read(inputs["sections"]).filter(pl.col("doc_id") != "a:plain")
    SECTIONS.write(sections, inputs["sections"])
    with pytest.raises(ChunkingError, match="a:plain is eligible"):
        run_sections(inputs, tmp_path / "x.parquet")


def test_an_eligible_document_without_matched_chunks_is_an_error(inputs, tmp_path):
    matched = run_sections(inputs, tmp_path / "m.parquet").filter(pl.col("doc_id") != "a:plain")
    CHUNKS.write(matched, tmp_path / "m.parquet")
    with pytest.raises(ChunkingError, match="a:plain is eligible"):
        run_windows(inputs, tmp_path / "m.parquet", tmp_path / "x.parquet")


def test_an_eligible_document_that_does_not_exist_is_an_error(inputs, tmp_path):
    DOCUMENTS.write(DOCUMENTS.read(inputs["documents"]).filter(pl.col("doc_id") != "b/nasty"), inputs["documents"])
    with pytest.raises(ChunkingError, match="b/nasty is eligible"):
        run_sections(inputs, tmp_path / "x.parquet")


def test_sections_that_do_not_tile_name_the_document(inputs, tmp_path):
    sections = SECTIONS.read(inputs["sections"]).filter(pl.col("section") > 0)
    SECTIONS.write(sections, inputs["sections"])
    with pytest.raises(ChunkingError, match=r"document b/nasty: its sections do not tile it: gap \[0, "):
        run_sections(inputs, tmp_path / "x.parquet")


def test_a_missing_input_is_named(inputs, tmp_path):
    with pytest.raises(ContractError, match="nowhere"):
        run_sections({**inputs, "sections": str(tmp_path / "nowhere.parquet")}, tmp_path / "x.parquet")


def test_a_frame_that_does_not_tile_is_refused():
    with pytest.raises(ChunkingError, match="document d: its chunks do not tile it"):
        to_frame({"d": [Chunk(0, 4, 1), Chunk(5, 9, 1)]}, {"d": 9})
