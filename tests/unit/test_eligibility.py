import pytest

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.structures import STRUCTURES
from docstructure.corpora.corpus import Paragraph, Query, assemble, documents_frame, queries_frame
from docstructure.eligibility import EligibilityError, build_eligible

IDS = ["a", "b", "c"]


def write_structure(path, statuses):
    STRUCTURES.write(
        STRUCTURES.frame(
            [
                {
                    "doc_id": doc_id,
                    "status": status,
                    "reason": "" if status == "ok" else "why",
                    "n_sections": int(status != "unusable"),
                }
                for doc_id, status in statuses.items()
            ]
        ),
        path,
    )
    return str(path)


@pytest.fixture
def folder(tmp_path):
    documents = [assemble(doc_id, "T", [Paragraph("text")]) for doc_id in IDS]
    DOCUMENTS.write(documents_frame(documents), tmp_path / "documents.parquet")
    queries = [Query("q1", "a", "why?", "t", ((0, 4),)), Query("q2", "a", "how?", "t", ((0, 4),))]
    QUERIES.write(queries_frame(queries), tmp_path / "queries.parquet")
    return tmp_path


def build(folder, structures, queries=None, require_queries=False):
    build_eligible(
        str(folder / "documents.parquet"), structures, queries, require_queries, str(folder / "eligible.parquet")
    )
    return ELIGIBLE.read(folder / "eligible.parquet").rows()


def test_a_document_unusable_in_a_required_structure_is_ineligible(folder):
    gold = write_structure(folder / "gold.parquet", dict.fromkeys(IDS, "ok"))
    tiling = write_structure(folder / "tiling.parquet", {"a": "repaired", "b": "unusable", "c": "corrected"})
    assert build(folder, {"gold": gold}) == [("a", True, ""), ("b", True, ""), ("c", True, "")]
    assert build(folder, {"gold": gold, "texttiling": tiling}) == [
        ("a", True, ""),
        ("b", False, "structure texttiling: unusable"),
        ("c", True, ""),
    ]


def test_queries_count_only_where_they_are_required(folder):
    tiling = write_structure(folder / "tiling.parquet", {"a": "ok", "b": "unusable", "c": "ok"})
    queries = str(folder / "queries.parquet")
    assert [row[1] for row in build(folder, {}, queries, require_queries=False)] == [True, True, True]
    assert build(folder, {"texttiling": tiling}, queries, require_queries=True) == [
        ("a", True, ""),
        ("b", False, "structure texttiling: unusable; no query"),
        ("c", False, "no query"),
    ]


def test_no_eligible_document_is_an_error_with_the_reasons_and_nothing_is_written(folder):
    tiling = write_structure(folder / "tiling.parquet", dict.fromkeys(IDS, "unusable"))
    with pytest.raises(EligibilityError, match="none of 3 documents is eligible: structure texttiling: unusable: 3"):
        build(folder, {"texttiling": tiling})
    assert not (folder / "eligible.parquet").exists()


@pytest.mark.parametrize("ids", [["a", "b"], ["a", "b", "c", "d"]])
def test_a_structures_file_of_other_documents_is_an_error(folder, ids):
    other = write_structure(folder / "gold.parquet", dict.fromkeys(ids, "ok"))
    with pytest.raises(EligibilityError, match=r"gold\.parquet: 1 documents"):
        build(folder, {"gold": other})


def test_required_queries_need_a_file(folder):
    with pytest.raises(EligibilityError, match="no queries file"):
        build(folder, {}, None, require_queries=True)
