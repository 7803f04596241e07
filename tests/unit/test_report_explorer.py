import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.contracts.scores import SCORES
from docstructure.report.explorer import ExplorerError, build_explorer, embed
from docstructure.report.gains import discounted, gain, ideal, marks
from tests.unit.explorer_run import EVIDENCE, TEXTS, write_explorer_run


def data_of(page):
    text = Path(page).read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))


@pytest.fixture
def run(tmp_path):
    arguments = write_explorer_run(tmp_path)
    build_explorer(**arguments)
    return arguments, data_of(arguments["page"])


def test_scores_and_deltas_are_those_of_the_artifacts(run):
    arguments, data = run
    comparison = arguments["comparisons"][0]
    scores = {
        side: dict(SCORES.read(comparison[f"{side}_scores"]).select("query_id", "cov_ndcg@10").iter_rows())
        for side in ("minuend", "subtrahend")
    }
    shown = data["comparisons"][0]
    assert len(shown["queries"]) == len(EVIDENCE)
    for query in shown["queries"]:
        left, right = scores["minuend"][query["id"]], scores["subtrahend"][query["id"]]
        assert [own["score"] for own in query["sides"]] == [left, right]
        assert query["delta"] == pytest.approx(left - right)
        for own in query["sides"]:
            assert own["dcg"] / own["ideal"] == pytest.approx(own["score"])
    sizes = [abs(query["delta"]) for query in shown["queries"]]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) > 0
    assert shown["delta"] == pytest.approx(sum(query["delta"] for query in shown["queries"]) / len(EVIDENCE))


def test_marks_show_the_evidence_by_code_points(run):
    _, data = run
    found = 0
    for query in data["comparisons"][0]["queries"]:
        phrase = EVIDENCE[query["id"]][1]
        assert query["evidence"][0]["text"] == phrase
        for own in query["sides"]:
            for rank in own["ranks"]:
                chunk = data["chunks"][rank["chunk"]]
                for start, end in rank["marks"]:
                    assert chunk["text"][start:end] in phrase
                    found += 1
                assert bool(rank["marks"]) == (rank["gain"] > 0)
                assert chunk["text"] in TEXTS[chunk["doc"]]
    assert found


def test_limits_hold(tmp_path):
    arguments = {**write_explorer_run(tmp_path), "n_queries": 2, "n_ranks": 3, "max_characters": 10}
    build_explorer(**arguments)
    data = data_of(arguments["page"])
    queries = data["comparisons"][0]["queries"]
    assert len(queries) == 2
    assert all(len(own["ranks"]) == 3 for query in queries for own in query["sides"])
    assert all(len(chunk["text"]) <= 10 for chunk in data["chunks"].values())
    assert any(chunk["cut"] for chunk in data["chunks"].values())
    # what is summed up is over all queries, shown or not
    assert data["comparisons"][0]["n"] == 3


def test_no_text_ends_the_data_or_the_page(run):
    text = Path(run[0]["page"]).read_text(encoding="utf-8")
    assert "<script>window.hacked" not in text
    assert "<img" not in text
    assert len(re.findall(r"<script", text)) == 2


def test_scores_of_another_run_are_refused(tmp_path):
    arguments = write_explorer_run(tmp_path)
    path = arguments["comparisons"][0]["minuend_scores"]
    frame = SCORES.read(path)
    SCORES.write(frame.with_columns((1 - pl.col("cov_ndcg@10")).alias("cov_ndcg@10")), path)
    with pytest.raises(ExplorerError, match="not of one run"):
        build_explorer(**arguments)


def test_sides_with_other_queries_are_refused(tmp_path):
    arguments = write_explorer_run(tmp_path)
    path = arguments["comparisons"][0]["minuend_scores"]
    SCORES.write(SCORES.read(path).head(2), path)
    with pytest.raises(ExplorerError, match="do not hold the same queries"):
        build_explorer(**arguments)


def test_nothing_to_compare_is_a_sentence(tmp_path):
    arguments = {**write_explorer_run(tmp_path), "comparisons": []}
    build_explorer(**arguments)
    assert "No two conditions of this corpus were compared" in Path(arguments["page"]).read_text(encoding="utf-8")


def test_other_metrics_have_no_sum(tmp_path):
    arguments = {**write_explorer_run(tmp_path), "metric": "mrr"}
    build_explorer(**arguments)
    assert "dcg" not in data_of(arguments["page"])["comparisons"][0]["queries"][0]["sides"][0]


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_embedded_data_reads_back_and_holds_no_markup(value):
    text = embed(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_gain_is_the_mean_share_of_spans_that_a_chunk_covers():
    assert gain((0, 50), [(0, 100), (200, 210)]) == pytest.approx(0.25)
    assert gain((100, 200), [(0, 100), (200, 210)]) == 0
    assert discounted([1.0, 0.5, 1.0], 2) == pytest.approx([1.0, 0.5 / 1.5849625])
    # a span cut in two: the larger half first
    assert ideal([(0, 30), (30, 100)], [(0, 100)], 10) == pytest.approx(0.7 + 0.3 / 1.5849625)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 80), st.integers(1, 50), st.integers(1, 60))
def test_marks_are_the_common_characters(start, size, gold, width, length):
    chunk, span = (start, start + size), (gold, gold + width)
    common = {place - start for place in range(*chunk) if gold <= place < gold + width and place - start < length}
    assert {place for a, b in marks(chunk, [span], length) for place in range(a, b)} == common
