"""Every metric against a brute-force character-set oracle, ir_measures, the paper's example and known failures."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.metrics import METRICS, Metric, parse
from docstructure.metrics.cutoffs import Ranks, TokenBudget, WholeRanking
from docstructure.metrics.judged import ChunkSet, Evidence, JudgedRun, Run
from docstructure.metrics.section_recall import section_recall

NAMES = (
    "cov_ndcg@10",
    "cov_ndcg@2",
    "ndcg@10",
    "ndcg@1",
    "recall@50",
    "recall@1",
    "mrr",
    "coverage@512t",
    "coverage@7t",
)


def array(values):
    return np.array(list(values), dtype=np.int64)


def judged(queries, chunks, run):
    """Queries: (doc, [spans]); chunks: (doc, start, end, tokens), in order; run: ranked chunk numbers of each query."""
    spans = [(query, *span) for query, (_, gold) in enumerate(queries) for span in gold]
    rows = [(query, chunk) for query, ranked in enumerate(run) for chunk in ranked]
    return JudgedRun(
        Evidence(array(doc for doc, _ in queries), *(array(column) for column in zip(*spans, strict=True))),
        ChunkSet(*(array(column) for column in zip(*chunks, strict=True))),
        Run(array(query for query, _ in rows), array(chunk for _, chunk in rows)),
    )


def one(name, spans, chunks, ranked):
    """Score of one query in a document whose chunks each cost one token."""
    return parse(name).score(judged([(0, spans)], [(0, *chunk, 1) for chunk in chunks], [ranked]))[0]


# --- names ---


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("cov_ndcg@10", Metric("cov_ndcg", Ranks(10))),
        ("ndcg@3", Metric("ndcg", Ranks(3))),
        ("recall@50", Metric("recall", Ranks(50))),
        ("mrr", Metric("mrr", WholeRanking())),
        ("coverage@512t", Metric("coverage", TokenBudget(512))),
    ],
)
def test_parse_and_str_are_inverse(name, metric):
    assert parse(name) == metric
    assert str(metric) == name
    assert parse(str(metric)) == metric
    assert len({parse(name), metric}) == 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nDCG@10",
        "map",
        "ndcg",
        "ndcg@",
        "ndcg@0",
        "ndcg@-1",
        "ndcg@010",
        "ndcg@10t",
        "ndcg@1.5",
        "ndcg@10@10",
        " ndcg@10",
        "mrr@10",
        "mrr@",
        "coverage@512",
        "coverage@t",
        "recall@１",
    ],
)
def test_unknown_names_are_refused_with_what_exists(name):
    with pytest.raises(ValueError, match="metrics are cov_ndcg@k, ndcg@k, recall@k, mrr, coverage@Bt"):
        parse(name)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "10"])
def test_cutoffs_are_whole_numbers_from_one(value):
    with pytest.raises(ValueError, match="whole numbers from 1"):
        Ranks(value)
    with pytest.raises(ValueError, match="whole numbers from 1"):
        TokenBudget(value)


def test_every_family_can_be_parsed_from_its_form():
    for family in METRICS.modules:
        assert any(name.partition("@")[0] == family for name in NAMES)


# --- the oracle: sets of characters, one query, one chunk at a time ---


def oracle(name, query, chunks, ranked):
    doc, spans = query
    gold = [set(range(*span)) for span in spans]
    text = [set(range(start, end)) if chunk_doc == doc else set() for chunk_doc, start, end, _ in chunks]
    family, _, cutoff = name.partition("@")
    relevant = [any(2 * len(c & g) >= len(g) or (c and 5 * len(c & g) >= 4 * len(c)) for g in gold) for c in text]
    if family == "mrr":
        return next((1 / rank for rank, chunk in enumerate(ranked, 1) if relevant[chunk]), 0.0)
    if family == "coverage":
        seen, left = set(), int(cutoff[:-1])
        for chunk in ranked:
            left -= chunks[chunk][3]
            if left < 0:
                break
            seen |= text[chunk]
        return float(sum(Fraction(len(g & seen), len(g)) for g in gold) / len(gold))
    k = int(cutoff)
    if family == "recall":
        seen = set().union(*(text[chunk] for chunk in ranked[:k]))
        return sum(2 * len(g & seen) >= len(g) for g in gold) / len(gold)
    if family == "ndcg":
        actual = sum(1 / math.log2(rank + 1) for rank, chunk in enumerate(ranked[:k], 1) if relevant[chunk])
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, sum(relevant)) + 1))
        return actual / ideal if ideal else 0.0

    def gain(chunk, seen):
        return sum(Fraction(len((text[chunk] & g) - seen), len(g)) for g in gold) / len(gold)

    def dcg(order):
        seen, total = set(), 0.0
        for rank, chunk in enumerate(order[:k], 1):
            total += float(gain(chunk, seen)) / math.log2(rank + 1)
            seen |= text[chunk]
        return total

    best, seen = [], set()
    for _ in range(min(k, len(chunks))):
        rest = [chunk for chunk in range(len(chunks)) if chunk not in best]
        best.append(max(rest, key=lambda chunk: gain(chunk, seen)))
        seen |= text[best[-1]]
    return dcg(ranked) / dcg(best) if dcg(best) else 0.0


@st.composite
def tiled_cells(draw):
    """Documents tiled by chunks, queries with disjoint spans (touching ones too), and a ranking of each query."""
    chunks, queries = [], []
    lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=3))
    for doc, length in enumerate(lengths):
        inner = draw(st.sets(st.integers(1, length - 1), max_size=8)) if length > 1 else set()
        edges = [0, *sorted(inner), length]
        tokens = draw(st.lists(st.integers(0, 4), min_size=len(edges), max_size=len(edges)))
        chunks += [(doc, *span, cost) for *span, cost in zip(edges, edges[1:], tokens, strict=False)]
    for _ in range(draw(st.integers(1, 4))):
        doc = draw(st.integers(0, len(lengths) - 1))
        points = sorted(draw(st.sets(st.integers(0, lengths[doc]), min_size=2, max_size=8)))
        keep = draw(st.lists(st.booleans(), min_size=len(points) - 1, max_size=len(points) - 1))
        spans = [span for span, kept in zip(pairwise(points), keep, strict=True) if kept]
        queries.append((doc, spans or [(points[0], points[-1])]))
    order = st.permutations(range(len(chunks)))
    run = [draw(order)[: draw(st.integers(1, len(chunks)))] for _ in queries]
    return queries, chunks, run


@settings(max_examples=300, deadline=None)
@given(tiled_cells())
def test_every_metric_equals_the_character_set_oracle(cell):
    queries, chunks, run = cell
    together = judged(queries, chunks, run)
    for name in NAMES:
        expected = [oracle(name, query, chunks, ranked) for query, ranked in zip(queries, run, strict=True)]
        scores = parse(name).score(together)
        np.testing.assert_allclose(scores, expected, atol=1e-12, err_msg=name)
        assert ((scores >= 0) & (scores <= 1)).all()


@settings(max_examples=100, deadline=None)
@given(tiled_cells())
def test_a_query_has_the_same_bits_alone_as_in_company(cell):
    queries, chunks, run = cell
    for name in NAMES:
        together = parse(name).score(judged(queries, chunks, run))
        alone = [parse(name).score(judged([q], chunks, [r]))[0] for q, r in zip(queries, run, strict=True)]
        assert together.tolist() == alone


@settings(max_examples=200, deadline=None)
@given(tiled_cells(), st.integers(1, 20))
def test_the_greedy_ideal_is_exact_on_tilings(cell, k):
    """The best of all orders of the query's own chunks scores 1; so does no order of them more than 1."""
    queries, chunks, _ = cell
    best = []
    for doc, spans in queries:
        gold = [set(range(*span)) for span in spans]

        def gain(chunk, doc=doc, gold=gold):
            covered = set(range(chunk[1], chunk[2])) if chunk[0] == doc else set()
            return sum(Fraction(len(covered & g), len(g)) for g in gold)

        best.append(sorted(range(len(chunks)), key=lambda index: -gain(chunks[index])))
    scores = parse(f"cov_ndcg@{k}").score(judged(queries, chunks, best))
    np.testing.assert_allclose(scores, 1.0, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(tiled_cells(), st.integers(1, 20))
def test_cov_ndcg_equals_alpha_ndcg_where_spans_are_covered_wholly_or_not(cell, k):
    """One subtopic per span; each span is one or more whole spans inside a chunk."""
    queries, chunks, run = cell
    whole = []
    for doc, _ in queries:
        inside = [span for chunk_doc, *span, _ in chunks if chunk_doc == doc]
        spans = []
        for start, end in inside[::2] + inside[1::4]:
            middle = (start + end) // 2
            spans += [(start, middle), (middle, end)] if start < middle < end else [(start, end)]
        whole.append((doc, sorted(spans)))
    qrels = [
        ir_measures.Qrel(str(query), str(index), 1, str(topic))
        for query, (doc, spans) in enumerate(whole)
        for topic, (start, end) in enumerate(spans)
        for index, (chunk_doc, left, right, _) in enumerate(chunks)
        if chunk_doc == doc and left <= start and end <= right
    ]
    ranked = [
        ir_measures.ScoredDoc(str(query), str(chunk), -float(rank))
        for query, order in enumerate(run)
        for rank, chunk in enumerate(order)
    ]
    measure = ir_measures.alpha_nDCG(alpha=1.0) @ k
    peer = {value.query_id: value.value for value in measure.iter_calc(qrels, ranked)}
    scores = parse(f"cov_ndcg@{k}").score(judged(whole, chunks, run))
    np.testing.assert_allclose(scores, [peer[str(query)] for query in range(len(whole))], atol=1e-9)


# --- the paper, and inputs that broke others ---


def test_the_papers_worked_example_scores_one():
    chunks = [(0, 60), (40, 100), (100, 150)]
    assert one("cov_ndcg@10", [(0, 100)], chunks, [0, 1, 2]) == pytest.approx(1.0, abs=1e-12)


def test_a_chunk_that_covers_the_span_in_one_shot_lowers_the_papers_example():
    # Chunks in order of their starts: [0, 60) [0, 100) [40, 100). The ideal is 1.0 at rank 1.
    chunks = [(0, 60), (0, 100), (40, 100)]
    assert one("cov_ndcg@10", [(0, 100)], chunks, [0, 2]) == pytest.approx(0.6 + 0.4 / math.log2(3), abs=1e-12)


def test_overlapping_chunks_that_score_above_one_are_refused():
    """Span [0, 100), chunks [24, 76), [0, 50), [50, 100): the greedy ideal is not optimal, the score would be 1.030."""
    chunks = [(0, 50), (24, 76), (50, 100)]
    with pytest.raises(ValueError, match=r"cov_ndcg@10 of query 0 is 1\.030, above 1: chunks of document 0 overlap"):
        one("cov_ndcg@10", [(0, 100)], chunks, [0, 2])


def test_the_first_overlap_of_a_chunk_set_is_found():
    disjoint = ChunkSet(array([0, 0, 1]), array([0, 5, 0]), array([5, 9, 9]), array([1, 1, 1]))
    assert disjoint.first_overlap() is None
    overlapping = ChunkSet(array([0, 0, 1, 1]), array([0, 5, 0, 8]), array([5, 9, 9, 12]), array([1] * 4))
    assert overlapping.first_overlap() == 3


def test_a_chunk_ranked_twice_is_refused():
    """Duplicate ids gave nDCG above 1 elsewhere; twice in one query is an error, in two queries it is not."""
    with pytest.raises(ValueError, match="query 1 ranks chunk 0 twice"):
        Run(array([0, 1, 1, 1]), array([0, 0, 1, 0]))
    assert Run(array([0, 1]), array([0, 0])).rank.tolist() == [1, 1]


def test_a_missing_query_is_refused():
    with pytest.raises(ValueError, match="the run lacks query 1"):
        judged([(0, [(0, 5)]), (0, [(0, 5)])], [(0, 0, 5, 1)], [[0], []])


@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_of_another_document_gains_nothing(name):
    chunks = [(0, 0, 10, 1), (1, 0, 10, 1)]
    assert parse(name).score(judged([(0, [(0, 10)])], chunks, [[1]]))[0] == 0
    assert parse(name).score(judged([(0, [(0, 10)])], chunks, [[0]]))[0] == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_ideal_of_zero_scores_zero(name):
    """The query's document has no chunk that touches its evidence."""
    assert one(name, [(50, 60)], [(0, 10), (10, 20)], [0, 1]) == 0
    assert parse(name).score(judged([(5, [(0, 10)])], [(0, 0, 10, 1)], [[0]]))[0] == 0


def test_relevance_has_exact_edges():
    assert one("mrr", [(0, 20)], [(10, 100)], [0]) == 1  # 10 of 20: half of the span
    assert one("mrr", [(0, 21)], [(11, 100)], [0]) == 0  # 10 of 21: less
    assert one("mrr", [(0, 100)], [(92, 102)], [0]) == 1  # 8 of 10: four fifths of the chunk
    assert one("mrr", [(0, 1000)], [(993, 1002)], [0]) == 0  # 7 of 9: less
    assert one("mrr", [(0, 40), (40, 100)], [(35, 45)], [0]) == 0  # all of the chunk, but half in each span


def test_recall_counts_the_union_of_chunks_over_all_spans():
    chunks = [(0, 25), (25, 50), (50, 75), (75, 100)]
    spans = [(0, 50), (60, 100)]
    assert one("recall@1", spans, chunks, [0, 1]) == 0.5  # 25 of 50 is half
    assert one("recall@50", [(0, 100), (100, 200)], [(0, 26), (26, 49), (49, 200)], [0, 1]) == 0  # 49 of 100
    assert one("recall@50", [(0, 100), (100, 200)], [(0, 26), (26, 50), (50, 200)], [0, 1]) == 0.5


def test_the_first_chunk_that_does_not_fit_ends_the_budget():
    chunks = [(0, 0, 10, 3), (0, 10, 20, 5), (0, 20, 30, 1)]
    cell = judged([(0, [(0, 30)])], chunks, [[0, 1, 2]])
    assert parse("coverage@7t").score(cell)[0] == pytest.approx(1 / 3)  # the third would fit, but comes after
    assert parse("coverage@8t").score(cell)[0] == pytest.approx(2 / 3)
    assert parse("coverage@2t").score(cell)[0] == 0


def test_section_recall_needs_a_routed_section_of_the_own_document_with_evidence():
    chunks = [(0, 0, 10, 1), (0, 10, 20, 1), (1, 0, 10, 1)]
    cell = judged([(0, [(12, 15)]), (0, [(12, 15)]), (0, [(12, 15)])], chunks, [[0], [0], [0]])
    top_section = array([0, 1, 1])
    query, doc, section = array([0, 0, 1, 2]), array([0, 1, 0, 1]), array([1, 0, 0, 1])
    assert section_recall(cell, top_section, query, doc, section).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda: ChunkSet(array([1, 0]), array([0, 0]), array([5, 5]), array([1, 1])), "not ordered"),
        (lambda: ChunkSet(array([0, 0]), array([5, 0]), array([9, 5]), array([1, 1])), "not ordered"),
        (lambda: ChunkSet(array([0]), array([5]), array([5]), array([1])), "empty or reversed"),
        (lambda: Evidence(array([0]), array([0]), array([5]), array([5])), "empty or reversed"),
        (lambda: Evidence(array([0, 0]), array([1]), array([0]), array([5])), "query 0 has no evidence"),
        (lambda: Evidence(array([0, 0]), array([1, 0]), array([0, 0]), array([5, 5])), "order of their queries"),
        (lambda: Run(array([1, 0]), array([0, 0])), "order of their queries"),
        (lambda: Run(array([0]), array([-1])), "has no chunk"),
        (lambda: judged([(0, [(0, 5)])], [(0, 0, 5, 1)], [[1]]), "chunk 1 of 1"),
        (lambda: judged([(0, [(0, 5)])], [(0, 0, 5, 1)], [[0], [0]]), "query 1 of 1"),
    ],
)
def test_malformed_arrays_are_refused(broken, says):
    with pytest.raises(ValueError, match=says):
        broken()
