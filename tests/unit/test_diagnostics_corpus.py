"""Topics, funnels, queries and structures of a corpus."""

import pytest

from docstructure.contracts.contract import ContractError
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.funnel_summary import FUNNEL_SUMMARY
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_profile import QUERY_PROFILE
from docstructure.contracts.sections import SECTIONS
from docstructure.contracts.structure_summary import STRUCTURE_SUMMARY
from docstructure.contracts.structures import STRUCTURES
from docstructure.contracts.topics import TOPICS
from docstructure.diagnostics.corpus import build_corpus_tables


def document(doc_id, topic):
    return {
        "doc_id": doc_id,
        "title": doc_id,
        "text": "abcdef",
        "paragraphs": [{"start": 0, "end": 6}],
        "source": None,
        "topic": topic,
    }


def query(query_id, doc_id, kind, spans):
    return {
        "query_id": query_id,
        "doc_id": doc_id,
        "query": "why?",
        "type": kind,
        "spans": [{"start": s, "end": e} for s, e in spans],
    }


def section(doc_id, number, path):
    return {
        "doc_id": doc_id,
        "section": number,
        "level": max(1, len(path)),
        "path": path,
        "par_start": number,
        "par_end": number + 1,
        "start": number,
        "end": number + 1,
    }


@pytest.fixture
def tables(tmp_path):
    def write(contract, rows, name):
        path = tmp_path / name
        contract.write(contract.frame(rows), path)
        return str(path)

    documents = [document("a", "war"), document("b", "war"), document("c", "art"), document("d", None)]
    queries = [
        query("q1", "a", "fact", [(0, 2)]),
        query("q2", "a", "multi", [(0, 2), (3, 4)]),
        query("q3", "c", "fact", [(1, 2)]),
    ]
    statuses = [("a", "ok", 2), ("b", "repaired", 1), ("c", "corrected", 3), ("d", "unusable", 0)]
    sections = [
        section("a", 0, []),
        section("a", 1, ["One"]),
        section("b", 0, ["One"]),
        section("c", 0, ["One"]),
        section("c", 1, ["One", "Two"]),
        section("c", 2, ["Three"]),
    ]
    FUNNEL.write(
        FUNNEL.frame(
            [
                ("i1", True, "exact"),
                ("i2", True, "exact"),
                ("i3", False, "lost: no such text"),
                ("i4", False, "lost: twice"),
            ]
        ),
        tmp_path / "funnel" / "evidence.parquet",
    )
    (tmp_path / "more").mkdir()
    arguments = {
        "documents": write(DOCUMENTS, documents, "documents"),
        "queries": write(QUERIES, queries, "queries"),
        "eligible": write(
            ELIGIBLE, [("a", True, ""), ("b", True, ""), ("c", False, "no"), ("d", False, "no")], "eligible"
        ),
        "funnels": [str(tmp_path / "funnel"), str(tmp_path / "more")],
        "structures": ["gemma"],
        "structure_files": [write(STRUCTURES, [(doc, status, "", n) for doc, status, n in statuses], "structures")],
        "section_files": [write(SECTIONS, sections, "sections")],
    }
    outputs = {
        name: str(tmp_path / f"{name}.out")
        for name in ("topics", "funnel_summary", "query_profile", "structure_summary")
    }

    def build(**changes):
        build_corpus_tables(**(arguments | outputs | changes))
        return outputs

    return build


def test_topics_count_documents_and_their_queries(tables):
    assert TOPICS.read(tables()["topics"]).rows() == [("war", 2, 0.5, 2), ("", 1, 0.25, 0), ("art", 1, 0.25, 1)]


def test_funnels_count_reasons_without_their_details(tables):
    table = FUNNEL_SUMMARY.read(tables()["funnel_summary"])
    assert table.rows() == [("evidence", True, "exact", 2, 0.5, 4, 2), ("evidence", False, "lost", 2, 0.5, 4, 2)]


def test_a_corpus_without_a_funnel_has_an_empty_table(tables, tmp_path):
    assert FUNNEL_SUMMARY.read(tables(funnels=[str(tmp_path / "more")])["funnel_summary"]).is_empty()


def test_one_stage_cannot_come_from_two_folders(tables, tmp_path):
    folder = str(tmp_path / "funnel")
    with pytest.raises(ContractError, match="stage evidence too"):
        tables(funnels=[folder, folder])


def test_queries_are_profiled_over_all_and_by_type(tables):
    table = QUERY_PROFILE.read(tables()["query_profile"])
    assert table.row(0) == ("all", 3, 2, pytest.approx(4 / 3), pytest.approx(1 / 3), 2)
    assert table.filter(type="fact").row(0)[1:] == (2, 2, 1.0, 0.0, 1)
    assert table.height == 3


def test_a_structure_is_counted_over_its_usable_documents(tables):
    row = STRUCTURE_SUMMARY.read(tables()["structure_summary"]).row(0, named=True)
    assert [row[f"n_{name}"] for name in ("documents", "usable", "ok", "corrected", "repaired", "unusable")] == [
        4,
        3,
        1,
        1,
        1,
        1,
    ]
    assert (row["n_sections"], row["mean_sections"]) == (6, 2)
    # text before any heading does not make a document deep; one of three has a second level
    assert (row["n_flat"], row["flat_share"], row["max_depth"]) == (2, pytest.approx(2 / 3), 2)


def test_nothing_usable_has_no_mean(tables, tmp_path):
    STRUCTURES.write(STRUCTURES.frame([("a", "unusable", "x", 0)]), tmp_path / "none")
    SECTIONS.write(SECTIONS.frame([]), tmp_path / "empty")
    out = tables(structure_files=[str(tmp_path / "none")], section_files=[str(tmp_path / "empty")])
    row = STRUCTURE_SUMMARY.read(out["structure_summary"]).row(0, named=True)
    assert (row["mean_sections"], row["flat_share"], row["max_depth"]) == (None, None, 0)
