"""Where QASPER comes from: files, archives, the hub's parquet conversion; merging them; what is wrong with them."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import tarfile
from pathlib import Path

import polars as pl
import pytest

from docstructure.corpora.corpus import CorpusError
from docstructure.corpora.qasper import Options, build, read_sources
from docstructure.corpora.qasper_evidence import FLOAT
from docstructure.corpora.qasper_sources import OFFICIAL_SIZES, merge_sources, read_files

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "qasper" / "qasper_60.json"


def paper(text="Some text.", question_id="q", **answer):
    fields = {
        "unanswerable": False,
        "extractive_spans": [],
        "yes_no": None,
        "free_form_answer": "x",
        "evidence": [text],
    }
    return {
        "title": "T",
        "abstract": "A",
        "full_text": [
            {"section_name": None, "paragraphs": ["Lead."]},
            {"section_name": "S ::: T", "paragraphs": [text, ""]},
        ],
        "qas": [
            {
                "question": "Why?",
                "question_id": question_id,
                "nlp_background": "five",
                "answers": [{"answer": fields | answer, "annotation_id": "a", "worker_id": "w"}],
            },
            {"question": "Who?", "question_id": question_id + "2", "nlp_background": "", "answers": []},
        ],
    }


def archive(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def as_bytes(papers):
    return json.dumps(papers).encode()


def hub_row(paper_id, record):
    """Return the row that the hub's conversion has for a record: lists of records as columns of lists."""
    return {
        "id": paper_id,
        "title": record["title"],
        "abstract": record["abstract"],
        "full_text": {key: [row[key] for row in record["full_text"]] for key in ("section_name", "paragraphs")},
        "qas": {
            "question": [asked["question"] for asked in record["qas"]],
            "question_id": [asked["question_id"] for asked in record["qas"]],
            "nlp_background": [asked["nlp_background"] for asked in record["qas"]],
            "answers": [
                {key: [given[key] for given in asked["answers"]] for key in ("answer", "annotation_id", "worker_id")}
                for asked in record["qas"]
            ],
        },
        "figures_and_tables": {"caption": [], "file": []},
    }


@pytest.fixture
def hub_file(tmp_path):
    rows = [hub_row("p1", paper("Text one.", "q1")), hub_row("p2", paper("Text two.", "q2", yes_no=True))]
    schema = {
        "id": pl.String,
        "title": pl.String,
        "abstract": pl.String,
        "full_text": pl.Struct({"section_name": pl.List(pl.String), "paragraphs": pl.List(pl.List(pl.String))}),
        "qas": pl.Struct(
            {
                "question": pl.List(pl.String),
                "question_id": pl.List(pl.String),
                "nlp_background": pl.List(pl.String),
                "answers": pl.List(
                    pl.Struct(
                        {
                            "answer": pl.List(
                                pl.Struct(
                                    {
                                        "unanswerable": pl.Boolean,
                                        "extractive_spans": pl.List(pl.String),
                                        "yes_no": pl.Boolean,
                                        "free_form_answer": pl.String,
                                        "evidence": pl.List(pl.String),
                                    }
                                )
                            ),
                            "annotation_id": pl.List(pl.String),
                            "worker_id": pl.List(pl.String),
                        }
                    )
                ),
            }
        ),
        "figures_and_tables": pl.Struct({"caption": pl.List(pl.String), "file": pl.List(pl.String)}),
    }
    folder = tmp_path / "hub"
    folder.mkdir()
    path = folder / "train-00000-of-00001.parquet"
    pl.DataFrame(rows, schema=schema).write_parquet(path)
    return path


def test_archives_give_all_splits_in_memory(tmp_path):
    train_dev = archive(
        tmp_path / "a.tgz",
        {
            "qasper-train-v0.3.json": as_bytes({"p1": paper("One.", "q1")}),
            "./nested/qasper-dev-v0.3.json": as_bytes({"p2": paper("Two.", "q2")}),
            "README.md": b"not data",
            "._qasper-train-v0.3.json": b"\x00resource fork",
            "training_notes.txt": b"x",
        },
    )
    test = archive(
        tmp_path / "b.tgz",
        {"qasper-test-v0.3.json": as_bytes({"p3": paper("Three.", "q3")}), "qasper_evaluator.py": b"x"},
    )
    corpus = build(Options(archives=[train_dev, test]))
    assert [document.doc_id for document in corpus.documents] == ["p2", "p1", "p3"]
    assert [query.query_id for query in corpus.queries] == ["q2", "q1", "q3"]
    assert corpus.documents[2].path.endswith("b.tgz/qasper-test-v0.3.json")
    assert corpus.documents[2].revision == f"sha256:{test['sha256']}"


def test_a_split_of_another_size_than_published_is_said_so(tmp_path, capsys):
    build(Options(archives=[archive(tmp_path / "a.tgz", {"qasper-dev-v0.3.json": as_bytes({"p": paper()})})]))
    assert "1 papers, 2 questions (NOT as published: 281 papers, 1,005 questions)" in capsys.readouterr().err


def test_the_published_sizes_are_the_papers():
    assert sum(n_papers for n_papers, _ in OFFICIAL_SIZES.values()) == 1585
    assert sum(n_questions for _, n_questions in OFFICIAL_SIZES.values()) == 5049


def test_a_local_archive_is_verified(tmp_path):
    definition = archive(tmp_path / "a.tgz", {"qasper-dev-v0.3.json": as_bytes({"p": paper()})})
    with pytest.raises(CorpusError, match=r"a\.tgz: sha256 is .*, expected 0000"):
        build(Options(archives=[definition | {"sha256": "0" * 64}]))


def test_an_archive_without_a_split_is_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"no \*train\*\.json"):
        build(Options(archives=[archive(tmp_path / "a.tgz", {"qasper_evaluator.py": b"x"})]))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "a.tgz"
    path.write_bytes(b"<html>not found</html>")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(CorpusError, match="not a readable tar archive"):
        build(Options(archives=[{"path": str(path), "sha256": digest}]))


def test_a_cut_archive_is_refused(tmp_path):
    definition = archive(tmp_path / "a.tgz", {"qasper-dev-v0.3.json": as_bytes({"p": paper("word " * 4000)})})
    path = Path(definition["path"])
    path.write_bytes(path.read_bytes()[:-40])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(CorpusError, match="not a readable tar archive"):
        build(Options(archives=[{"path": str(path), "sha256": digest}]))


def test_parquet_and_json_give_the_same_corpus(hub_file, tmp_path):
    json_file = tmp_path / "papers.json"
    json_file.write_bytes(as_bytes({"p1": paper("Text one.", "q1"), "p2": paper("Text two.", "q2", yes_no=True)}))
    from_json = build(Options(files=[str(json_file)]))
    from_parquet = build(Options(parquet=[str(hub_file)]))
    assert from_parquet.queries == from_json.queries
    assert from_parquet.funnels == from_json.funnels
    assert [dataclasses.replace(document, path="", revision="") for document in from_parquet.documents] == [
        dataclasses.replace(document, path="", revision="") for document in from_json.documents
    ]
    assert from_json.queries[0].spans == ((7, 16),)


def test_the_hub_layout_is_read_through_datasets(hub_file, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    through_datasets = build(Options(dataset={"path": str(hub_file.parent)}))
    assert through_datasets.queries == build(Options(parquet=[str(hub_file)])).queries
    assert through_datasets.documents[0].path.endswith("hub/train")


def test_a_dataset_that_cannot_be_had_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    with pytest.raises(CorpusError, match="refs/convert/parquet"):
        build(Options(dataset={"path": str(tmp_path / "missing")}))


def test_parquet_without_a_column_is_refused(hub_file):
    pl.read_parquet(hub_file).drop("qas").write_parquet(hub_file)
    with pytest.raises(CorpusError, match="column qas is missing"):
        build(Options(parquet=[str(hub_file)]))


def test_columns_of_unequal_length_are_refused(tmp_path):
    row = hub_row("p", paper()) | {"full_text": {"section_name": ["A", "B"], "paragraphs": [["x"]]}}
    path = tmp_path / "x.parquet"
    pl.DataFrame([row]).write_parquet(path)
    with pytest.raises(CorpusError, match="paper p: full_text: expected columns of equal length"):
        build(Options(parquet=[str(path)]))


def test_a_paper_in_two_sources_is_taken_once_when_identical(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(as_bytes({"p": paper()}))
    corpus = build(Options(files=[str(tmp_path / "a.json"), str(tmp_path / "b.json")]))
    assert [(document.doc_id, Path(document.path).name) for document in corpus.documents] == [("p", "a.json")]
    assert [query.query_id for query in corpus.queries] == ["q"]


def test_a_paper_in_two_sources_with_different_content_is_refused(tmp_path):
    (tmp_path / "a.json").write_bytes(as_bytes({"p": paper("One.")}))
    (tmp_path / "b.json").write_bytes(as_bytes({"p": paper("Two.")}))
    with pytest.raises(CorpusError, match=r"paper p stands in .*a\.json and in .*b\.json with different content"):
        build(Options(files=[str(tmp_path / "a.json"), str(tmp_path / "b.json")]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"p": ', "not JSON"),
        (b"[]", r"expected \{arXiv id: paper\}"),
        (b"{}", "at least one paper"),
        ('{"p": "ü"}'.encode("latin-1"), "byte 7 is not UTF-8"),
        (b'{"p": {}, "p": {}}', "key 'p' occurs twice"),
    ],
)
def test_a_bad_file_is_named(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=rf"bad\.json: .*{message}"):
        build(Options(files=[str(path)]))


def test_a_byte_order_mark_is_no_content(tmp_path):
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf" + as_bytes({"p": paper()}))
    assert [query.query_id for query in build(Options(files=[str(path)])).queries] == ["q"]


@pytest.mark.parametrize("option", ["files", "parquet"])
def test_a_missing_file_is_named(tmp_path, option):
    with pytest.raises(CorpusError, match=r"absent\.x: no such file"):
        build(Options(**{option: [str(tmp_path / "absent.x")]}))


@pytest.fixture(scope="module")
def real():
    if not REAL.is_file():
        pytest.skip(f"{REAL}: the shared QASPER sample is not here")
    return Options(files=[str(REAL)])


def test_every_evidence_string_of_sixty_real_papers_is_accounted_for(real):
    """An oracle that reads the raw file: evidence is a float, a paragraph (by equality), or a section's name."""
    corpus = build(real)
    texts = {document.doc_id: document.text for document in corpus.documents}
    raw = json.loads(REAL.read_text(encoding="utf-8"))
    reasons = {item.item_id: item for item in corpus.funnels["evidence"]}
    seen = 0
    for paper_id, record in raw.items():
        paragraphs = {text.replace("\n", " ").strip() for row in record["full_text"] for text in row["paragraphs"]}
        names = {row["section_name"].strip() for row in record["full_text"] if row["section_name"]}
        for asked in record["qas"]:
            for number, given in enumerate(asked["answers"]):
                for position, text in enumerate(given["answer"]["evidence"]):
                    item = reasons[f"{asked['question_id']}/{number}/{position}"]
                    clean = text.replace("\n", " ").strip()
                    seen += 1
                    if FLOAT in clean:
                        assert (item.kept, item.reason) == (False, "float")
                    elif clean in paragraphs:
                        assert (item.kept, item.reason) == (True, "exact: 100.00")
                    else:
                        assert clean in names
                        assert (item.kept, item.reason) == (True, "section: 100.00")
        kept = [text for row in record["full_text"] for text in row["paragraphs"] if text.strip()]
        assert texts[paper_id] == "\n\n".join(kept)
    assert seen == len(reasons) == 307


def test_spans_of_real_questions_are_their_evidence(real):
    corpus = build(real)
    texts = {document.doc_id: document.text for document in corpus.documents}
    raw = json.loads(REAL.read_text(encoding="utf-8"))
    evidence = {
        asked["question_id"]: {
            text.replace("\n", " ").strip() for given in asked["answers"] for text in given["answer"]["evidence"]
        }
        for record in raw.values()
        for asked in record["qas"]
    }
    steps = {}
    for item in corpus.funnels["evidence"]:
        steps.setdefault(item.item_id.split("/")[0], set()).add(item.reason.split(":")[0])
    compared = 0
    for query in corpus.queries:
        if steps[query.query_id] <= {"exact", "float"}:
            found = {texts[query.doc_id][start:end].replace("\n", " ").strip() for start, end in query.spans}
            assert found == {text for text in evidence[query.query_id] if FLOAT not in text}
            compared += 1
    assert compared == 149


def test_reading_twice_gives_the_same(real):
    assert merge_sources(read_sources(real)) == merge_sources(read_files(real.files))
    assert build(real) == build(real)


def test_json_that_is_nested_too_deeply_is_named():
    from docstructure.corpora.qasper_sources import read_json

    with pytest.raises(CorpusError, match=r"papers.json: the JSON is nested too deeply"):
        read_json(b'{"1": ' + b"[" * 100_000, "papers.json")
