"""Contracts name the file, the column and the first bad row, and write atomically."""

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from docstructure.contracts.chunks import CHUNK_ID, CHUNKS
from docstructure.contracts.contract import Contract, ContractError
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.scores import SCORES

FOLDER = Path(import_module("docstructure.contracts").__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in {"__init__", "contract"})


def eligible(**change):
    row = {"doc_id": "d", "eligible": True, "reason": ""} | change
    return ELIGIBLE.frame([row])


@pytest.mark.parametrize("name", NAMES)
def test_every_module_holds_one_contract_and_every_column_is_described(name):
    module = import_module(f"docstructure.contracts.{name}")
    contracts = [value for value in vars(module).values() if isinstance(value, Contract)]
    assert [contract.name for contract in contracts] == [name]
    assert all(column.doc for column in contracts[0].columns)
    assert set(contracts[0].key) <= set(contracts[0].names)


def test_columns_are_put_in_order():
    frame = eligible().select("reason", "doc_id", "eligible")
    assert ELIGIBLE.check(frame, "x").columns == ["doc_id", "eligible", "reason"]


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (eligible().drop("reason"), "column reason is missing"),
        (eligible().with_columns(more=1), "column more is not part"),
        (eligible().with_columns(pl.lit(1).alias("eligible")), "column eligible has type"),
        (eligible(doc_id=None), "column doc_id is null"),
        (pl.concat([eligible(), eligible()]), "column doc_id repeats"),
        (pl.concat([eligible(doc_id="c"), eligible(eligible=False)]), "row 1: eligible and reason disagree"),
    ],
)
def test_a_broken_frame_names_file_column_and_row(frame, says):
    with pytest.raises(ContractError, match=r"some/eligible.parquet \(eligible\)") as error:
        ELIGIBLE.check(frame, "some/eligible.parquet")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("spans", "says"),
    [
        ([], "no evidence"),
        ([(5, 5)], "empty, reversed or negative"),
        ([(7, 5)], "empty, reversed or negative"),
        ([(-1, 5)], "empty, reversed or negative"),
        ([(3, 9), (0, 2)], "unsorted or overlap"),
        ([(0, 5), (4, 9)], "unsorted or overlap"),
    ],
)
def test_query_spans(spans, says):
    row = {"query_id": "q", "doc_id": "d", "query": "why", "type": "t"}
    frame = QUERIES.frame([row | {"spans": [{"start": start, "end": end} for start, end in spans]}])
    with pytest.raises(ContractError, match=says):
        QUERIES.check(frame, "x")


def test_chunk_id_says_document_and_span():
    row = {"doc_id": "a:b", "start": 7, "end": 1234, "n_tokens": 3, "path": None, "top_section": None}
    frame = CHUNKS.frame([row | {"chunk_id": "a:b:000000007-000001234"}])
    CHUNKS.check(frame, "x")
    assert frame.select(CHUNK_ID).item() == "a:b:000000007-000001234"
    with pytest.raises(ContractError, match="does not say"):
        CHUNKS.check(CHUNKS.frame([row | {"chunk_id": "a:b:000000007-000001235"}]), "x")


def test_a_chunk_twice_in_a_ranking_is_refused():
    rows = [{"query_id": "q", "rank": rank, "chunk_id": "c", "score": 0.5, "routed": None} for rank in (1, 2)]
    with pytest.raises(ContractError, match="stands twice"):
        RANKING.check(RANKING.frame(rows), "x")


def test_scores_take_one_float_column_per_metric():
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "type": ["t"], "section_recall": [None], "mrr": [0.5]})
    frame = frame.with_columns(pl.col("section_recall").cast(pl.Float64))
    assert SCORES.check(frame, "x").columns[-1] == "mrr"
    with pytest.raises(ContractError, match="column mrr has type"):
        SCORES.check(frame.with_columns(mrr=pl.lit("high")), "x")


def test_round_trip_and_equal_bytes(tmp_path):
    for name in ("a", "b"):
        ELIGIBLE.write(eligible(), tmp_path / name / "eligible.parquet")
    a, b = (tmp_path / name / "eligible.parquet" for name in ("a", "b"))
    assert a.read_bytes() == b.read_bytes()
    assert ELIGIBLE.read(a).equals(eligible())
    assert ELIGIBLE.read(a, ["doc_id"]).columns == ["doc_id"]


@pytest.mark.parametrize("left", [0, 3, 200])
def test_a_file_that_is_cut_or_emptied_is_named(tmp_path, left):
    file = tmp_path / "eligible.parquet"
    ELIGIBLE.write(eligible(), file)
    file.write_bytes(file.read_bytes()[:left])
    for columns in (None, ["doc_id"]):
        with pytest.raises(ContractError, match=r"eligible.parquet \(eligible\): it cannot be read as parquet"):
            ELIGIBLE.read(file, columns)


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    file = tmp_path / "eligible.parquet"
    eligible().drop("reason").write_parquet(file)
    for columns in (None, ["doc_id", "reason"]):
        with pytest.raises(ContractError, match=r"eligible.parquet .*reason"):
            ELIGIBLE.read(file, columns)


def test_missing_file(tmp_path):
    with pytest.raises(ContractError, match="no such file"):
        ELIGIBLE.read(tmp_path / "eligible.parquet")


def test_a_refused_frame_leaves_the_old_file(tmp_path):
    path = tmp_path / "eligible.parquet"
    ELIGIBLE.write(eligible(), path)
    before = path.read_bytes()
    with pytest.raises(ContractError):
        ELIGIBLE.write(eligible(reason="x"), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["eligible.parquet"]


def test_killed_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "eligible.parquet"
    ELIGIBLE.write(eligible(), path)
    before = path.read_bytes()
    script = f"""
import os, signal, sys
import polars as pl
from docstructure.contracts import contract
from docstructure.contracts.eligible import ELIGIBLE
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
contract.Path.replace = die  # after the bytes are written, before they get their name
ELIGIBLE.write(ELIGIBLE.frame([{{"doc_id": "other", "eligible": True, "reason": ""}}]), {str(path)!r})
"""
    environment = os.environ | {"PYTHONPATH": str(FOLDER.parents[1])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert ELIGIBLE.read(path).equals(eligible())
