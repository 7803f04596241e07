"""Every invariant of the audit can fail: each is broken on purpose and must be found."""

import polars as pl
import pytest

from docstructure.audit import (
    build_audit,
    check_chunks,
    check_prefixes,
    check_rankings,
    check_sections,
    check_sizes,
)
from docstructure.contracts.audit import AUDIT
from docstructure.contracts.chunks import CHUNK_ID, CHUNKS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.views import VIEWS

TEXT = "aaaa\n\nbbbb\n\ncccc"
IDS = ("d1", "d2", "d3")
PATHS = (["One"], ["Two"], ["Two", "Deep"])
SEPARATOR = " › "


def documents():
    spans = [{"start": 0, "end": 4}, {"start": 6, "end": 10}, {"start": 12, "end": 16}]
    return DOCUMENTS.frame(
        [
            {"doc_id": doc, "title": doc.upper(), "text": TEXT, "paragraphs": spans, "source": None, "topic": None}
            for doc in IDS
        ]
    )


def sections():
    return SECTIONS.frame(
        [
            {
                "doc_id": doc,
                "section": index,
                "level": len(path),
                "path": path,
                "par_start": index,
                "par_end": index + 1,
                "start": 6 * index,
                "end": min(6 * index + 6, len(TEXT)),
            }
            for doc in IDS
            for index, path in enumerate(PATHS)
        ]
    )


def chunks(n_tokens=10, windows=False):
    rows = [
        {
            "chunk_id": "",
            "doc_id": doc,
            "start": 6 * index,
            "end": min(6 * index + 6, len(TEXT)),
            "n_tokens": n_tokens,
            "path": None if windows else path,
            "top_section": None if windows else min(index, 1),
        }
        for doc in IDS
        for index, path in enumerate(PATHS)
    ]
    return CHUNKS.frame(rows).with_columns(CHUNK_ID.alias("chunk_id"))


def view(donor_of=None):
    """Return the path view, or the placebo view in which each document bears its donor's paths."""
    rows = []
    for row in chunks().iter_rows(named=True):
        donor = donor_of[row["doc_id"]] if donor_of else row["doc_id"]
        prefix = f"[{SEPARATOR.join([donor.upper(), *row['path']])}] "
        rows.append(
            {
                "chunk_id": row["chunk_id"],
                "prefix": prefix,
                "n_prefix_tokens": 5,
                "prefix_truncated": False,
                "donor_doc_id": donor if donor_of else None,
            }
        )
    return VIEWS.frame(rows)


DERANGED = {"d1": "d2", "d2": "d3", "d3": "d1"}
VIEW_DEFINITIONS = {
    "induced.path3": {"path": {"depth": 3}},
    "induced.placebo3": {"placebo": {"depth": 3, "seed": 1}},
}


def ranking(score=0.5, queries=("q1", "q2")):
    ids = chunks()["chunk_id"]
    return RANKING.frame(
        [
            {"query_id": query, "rank": rank + 1, "chunk_id": ids[rank], "score": score - rank / 10, "routed": None}
            for query in queries
            for rank in range(2)
        ]
    )


def failed(findings):
    return [finding.invariant for finding in findings if not finding.holds]


def test_sound_artifacts_pass_every_check():
    sets = {"induced": chunks(), "fixed": chunks(windows=True)}
    definitions = {"induced": {"sections": {"structure": "gold"}}, "fixed": {"windows": {"match": "induced"}}}
    views = {"induced.path3": view(), "induced.placebo3": view(DERANGED)}
    findings = [
        *check_sections("gold", sections(), documents()),
        *check_chunks(sets, documents(), set(IDS)),
        *check_sizes(sets, definitions),
        *check_prefixes(views, VIEW_DEFINITIONS, sets, documents().select("doc_id", "title"), SEPARATOR),
    ]
    assert failed(findings) == []
    assert len(findings) == 13


def test_a_section_that_disagrees_with_the_paragraph_table_is_found():
    moved = sections().with_columns(end=pl.when(pl.col("section") == 0).then(5).otherwise("end"))
    assert failed(check_sections("gold", moved, documents())) == [
        "structure gold: documents with a tiling or offset violation"
    ]
    assert failed(check_sections("gold", sections().filter(pl.col("section") != 1), documents()))


def test_sections_and_chunks_of_a_document_that_is_not_there_are_found():
    fewer = documents().filter(pl.col("doc_id") != "d3")
    assert failed(check_sections("gold", sections(), fewer)) == [
        "structure gold: documents with a tiling or offset violation"
    ]
    broken = failed(check_chunks({"induced": chunks()}, fewer, {"d1", "d2"}))
    assert broken[0] == "chunks induced: documents that they do not tile"


def test_chunks_that_do_not_tile_and_documents_without_chunks_are_found():
    holes = {"induced": chunks().filter(pl.col("start") != 6)}
    assert failed(check_chunks(holes, documents(), set(IDS))) == ["chunks induced: documents that they do not tile"]
    gone = {"induced": chunks().filter(pl.col("doc_id") != "d2")}
    assert failed(check_chunks(gone, documents(), set(IDS))) == [
        "chunks induced: documents that are eligible or chunked but not both"
    ]
    assert failed(check_chunks({"induced": chunks()}, documents(), {"d1", "d2"}))


def test_a_size_mismatch_of_ten_tokens_and_unequal_counts_are_found():
    definitions = {"induced": {"sections": {}}, "fixed": {"windows": {"match": "induced"}}}
    longer = {"induced": chunks(10), "fixed": chunks(20, windows=True)}
    assert failed(check_sizes(longer, definitions)) == ["size match fixed / induced: |mean tokens|"]
    fewer = {"induced": chunks(), "fixed": chunks(windows=True)[:-1]}
    assert failed(check_sizes(fewer, definitions)) == [
        "size match fixed / induced: documents with unequal chunk counts"
    ]


@pytest.mark.parametrize(
    ("placebo", "says"),
    [
        (view({"d1": "d1", "d2": "d3", "d3": "d2"}), "residual assignments above the least possible"),
        (
            view(DERANGED).with_columns(
                prefix=pl.when(pl.col("prefix").str.contains("Deep")).then(pl.lit("[D1 › Two] ")).otherwise("prefix"),
                donor_doc_id=pl.when(pl.col("prefix").str.contains("Deep"))
                .then(pl.lit("d1"))
                .otherwise("donor_doc_id"),
            ),
            "chunks at another depth",
        ),
        (view({"d1": "d2", "d2": "d1", "d3": "d2"}), "no permutation"),
        (
            view(DERANGED).with_columns(prefix=pl.lit("[D9 › Nowhere] ")),
            "prefixes that are no path of their donor",
        ),
        (view(DERANGED)[:-1], "chunks without one"),
        (view(DERANGED)[::-1], "does not list exactly its chunks"),
    ],
)
def test_a_placebo_that_is_not_one_is_found(placebo, says):
    views = {"induced.path3": view(), "induced.placebo3": placebo}
    titles = documents().select("doc_id", "title")
    broken = failed(check_prefixes(views, VIEW_DEFINITIONS, {"induced": chunks()}, titles, SEPARATOR))
    assert any(says in invariant for invariant in broken), broken


def test_a_missing_query_and_other_vectors_are_found(tmp_path):
    cells = [
        {"condition": condition, "embedder": "e", "reranker": "none", "view": "induced.path3"}
        for condition in ("A3", "A4")
    ]
    files = [str(tmp_path / f"{name}.parquet") for name in ("A3", "A4")]
    RANKING.write(ranking(), files[0])
    RANKING.write(ranking(), files[1])
    assert failed(check_rankings(cells, files, {"q1", "q2"})) == []
    RANKING.write(ranking(queries=("q1",)), files[1])
    assert failed(check_rankings(cells, files, {"q1", "q2"})) == ["ranking A4/e/none: queries missing or added"]
    RANKING.write(ranking(score=0.6), files[1])
    assert failed(check_rankings(cells, files, {"q1", "q2"})) == [
        "same vectors A4/e/none / A3/e/none: shared chunks with another score"
    ]


def test_the_stage_writes_failed_invariants_as_rows(tmp_path):
    def write(contract, frame, name):
        contract.write(frame, tmp_path / f"{name}.parquet")
        return str(tmp_path / f"{name}.parquet")

    query = {"query_id": "q1", "doc_id": "d1", "query": "why", "type": "t", "spans": [{"start": 0, "end": 3}]}
    build_audit(
        documents=write(DOCUMENTS, documents(), "documents"),
        queries=write(QUERIES, QUERIES.frame([query]), "queries"),
        eligible=write(
            ELIGIBLE, ELIGIBLE.frame([{"doc_id": doc, "eligible": True, "reason": ""} for doc in IDS]), "eligible"
        ),
        structures=["gold"],
        section_files=[write(SECTIONS, sections(), "sections")],
        chunk_sets={"induced": {"sections": {"structure": "gold"}}},
        chunk_files=[write(CHUNKS, chunks(), "chunks")],
        views=VIEW_DEFINITIONS,
        view_files=[write(VIEWS, view(), "path"), write(VIEWS, view(DERANGED), "placebo")],
        cells=[{"condition": "A3", "embedder": "e", "reranker": "none", "view": "induced.path3"}],
        ranking_files=[write(RANKING, ranking(), "ranking")],
        separator=SEPARATOR,
        audit=str(tmp_path / "audit.parquet"),
    )
    audit = AUDIT.read(tmp_path / "audit.parquet")
    # the rankings hold q2, which no eligible document asks
    assert audit.filter(~pl.col("holds"))["invariant"].to_list() == ["ranking A3/e/none: queries missing or added"]
    assert audit["holds"].sum() == audit.height - 1 > 6
