"""Contexts by a language model: order, limits, second tries, failures, shards; the engine is a fake."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking.chunk import Chunk, to_frame
from docstructure.contextualizers.llm import Options, shorten
from docstructure.contextualizers.stage import ContextError, build_contexts, complete_context_shard
from docstructure.contextualizers.withholding import WithholdingError, select_chunks, withhold
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.eligible import ELIGIBLE
from docstructure.llm.request import Result
from tests.conftest import TOKENIZER
from tests.unit import fake_llm
from tests.unit.chunking_cases import NASTY, sentence, words

GOOD = "The chunk tells of cats."


def said(text):
    return json.dumps({"context": text})


class Raw(str):
    """An answer that is given as it is."""


def register(monkeypatch, answer, order=None):
    """Register a fake engine that writes its texts as it is asked to."""

    def write(request):
        text = answer(request)
        return said(text) if isinstance(text, str) and not isinstance(text, Raw) else text

    return fake_llm.register(monkeypatch, write, order)


class Study:
    """A small corpus in a folder: documents of `n` chunks, each chunk one paragraph `d0p1` and so on."""

    def __init__(self, folder, n_documents=4, n_chunks=5):
        self.folder = folder
        rows, chunks = [], {}
        for number in range(n_documents):
            paragraphs = [f"Paragraph d{number}p{index} is here." for index in range(n_chunks)]
            edges = [0]
            for paragraph in paragraphs:
                edges.append(edges[-1] + len(paragraph) + 2)
            text = "\n\n".join(paragraphs)
            spans = [{"start": a, "end": b - 2} for a, b in pairwise(edges)]
            rows.append({
                "doc_id": f"d{number}", "title": f"Title {number}", "text": text, "paragraphs": spans,
                "source": None, "topic": None,
            })  # fmt: skip
            edges[-1] = len(text)
            chunks[f"d{number}"] = [Chunk(a, b, 5) for a, b in pairwise(edges)]
        DOCUMENTS.write(DOCUMENTS.frame(rows), folder / "documents.parquet")
        lengths = {row["doc_id"]: len(row["text"]) for row in rows}
        self.chunks = to_frame(chunks, lengths)
        CHUNKS.write(self.chunks, folder / "chunks.parquet")

    def inputs(self, **options):
        engine = options.pop("engine", {})
        return {
            "definition": {"llm": {"model": "m", **options}},
            "documents": str(self.folder / "documents.parquet"),
            "chunks": str(self.folder / "chunks.parquet"),
            "tokenizer": TOKENIZER,
            "language": "en",
            "models": {"m": {"fake": engine}},
        }

    def build(self, name="contexts", share=0.05, cache="cache", offline=False, **options):
        path = self.folder / f"{name}.parquet"
        build_contexts(
            contexts=str(path),
            max_unusable_share=share,
            cache=str(self.folder / cache),
            offline=offline,
            **self.inputs(**options),
        )
        return CONTEXTS.read(path)

    def shard(self, shard, shards, cache="cache", **options):
        path = self.folder / f"shard{shard}.parquet"
        complete_context_shard(
            completed=str(path), shard=shard, shards=shards, cache=str(self.folder / cache), **self.inputs(**options)
        )
        return CONTEXTS.read(path)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def chunk_of(messages):
    """Return the paragraph that a context prompt asks about, d1p2."""
    return re.search(r"<chunk>\s*Paragraph (\w+)", messages[1][1]).group(1)


def echo(request):
    return f"It is about {chunk_of(request.messages)}."


def statuses(frame):
    return dict(frame["status"].value_counts().iter_rows())


def test_every_chunk_gets_its_own_context(study, monkeypatch):
    register(monkeypatch, echo)
    found = study.build()
    assert found["chunk_id"].to_list() == study.chunks["chunk_id"].to_list()
    assert found["context"].to_list() == [f"It is about d{d}p{c}." for d in range(4) for c in range(5)]
    assert statuses(found) == {"ok": 20}
    assert set(found["reason"]) == {""}
    assert (found["n_tokens"] > 0).all()


def test_a_documents_prompts_share_their_beginning_and_follow_one_another(study, monkeypatch):
    engine = register(monkeypatch, echo)
    study.build()
    asked = [chunk_of(request.messages) for request in engine.asked]
    assert asked == [f"d{d}p{c}" for d in range(4) for c in range(5)]
    for number in range(4):
        prompts = ["\0".join(content for _, content in request.messages) for request in engine.asked[5 * number :][:5]]
        shared = prompts[0].index("<chunk>")
        assert len({prompt[:shared] for prompt in prompts}) == 1
        assert f"Title {number}" in prompts[0][:shared]
        assert all(f"d{number}p{index} " in prompts[0][:shared] for index in range(5))


def test_a_finished_corpus_does_not_meet_the_engine_again(study, monkeypatch):
    engine = register(monkeypatch, echo)
    first = study.build()
    assert engine.started == 1
    assert study.build("again", offline=True).equals(first)
    assert study.build("again").equals(first)
    assert engine.started == 1
    assert len(engine.asked) == 20


@pytest.mark.parametrize("order", [lambda results: results[::-1], lambda results: results[1::2] + results[::2]])
def test_results_out_of_order_find_their_chunks(study, monkeypatch, order):
    register(monkeypatch, echo, order)
    assert study.build()["context"].to_list() == [f"It is about d{d}p{c}." for d in range(4) for c in range(5)]


def test_an_answer_that_is_lost_once_is_asked_for_again(study, monkeypatch):
    lost = []

    def answer(request):
        if chunk_of(request.messages) in ("d0p1", "d2p2") and request.id not in lost:
            lost.append(request.id)
            return None if len(lost) == 1 else Result(request.id, "", "error", error="503")
        return echo(request)

    register(monkeypatch, answer)
    found = study.build()
    assert len(lost) == 2
    assert statuses(found) == {"ok": 20}


@pytest.mark.parametrize(
    ("bad", "status", "reason"),
    [
        (lambda request: None, "failed", "error: the engine gave no answer"),
        (lambda request: Result(request.id, "", "error", error="boom"), "failed", "error: boom"),
        (lambda request: Result(request.id, "It is ab", "length"), "failed", "cut off after 256 tokens"),
        (lambda request: Result(request.id, "", "refused", error="no"), "failed", "refused: no"),
        (lambda request: "I'm sorry, but I cannot do that.", "failed", "declines: I'm sorry"),
        (lambda request: " \n ", "empty", "Your answer was empty. Your answer was empty."),
        (lambda request: "\u200b", "empty", "Your answer was empty."),
        (lambda request: Raw("It is about cats."), "failed", "not a JSON object"),
        (lambda request: Raw('{"context": 3}'), "failed", "not a JSON object"),
        (lambda request: Raw("[]"), "failed", "not a JSON object"),
        (lambda request: Raw('{"context": "It is ab'), "failed", "not a JSON object"),
    ],
)
def test_failures_are_counted_and_listed_and_nothing_stands_in(study, monkeypatch, bad, status, reason):
    register(monkeypatch, lambda request: bad(request) if chunk_of(request.messages) == "d1p3" else echo(request))
    found = study.build(share=0.25)
    row = found.filter(found["status"] != "ok")
    assert row["chunk_id"].to_list() == [study.chunks["chunk_id"][8]]
    assert row.select("context", "n_tokens", "status").row(0) == ("", 0, status)
    assert reason in row["reason"][0]
    assert not (study.folder / "contexts.failed.parquet").exists()


@pytest.mark.parametrize("garbage", ["", "I cannot help with that.", Raw("garbage"), Raw("")])
def test_garbage_to_everything_writes_its_counts_and_fails(study, monkeypatch, garbage):
    register(monkeypatch, lambda request: garbage)
    with pytest.raises(
        ContextError, match=r"4 of 4 documents.*allows 5\.0%.*Look at columns status and reason"
    ) as caught:
        study.build()
    kept = CONTEXTS.read(study.folder / "contexts.failed.parquet")
    assert kept.height == 20
    assert "ok" not in statuses(kept)
    assert "0 ok" in str(caught.value)
    assert "d0: 5 chunks without a context" in str(caught.value)


def test_the_budget_is_of_documents_and_is_kept_to_exactly(tmp_path, monkeypatch):
    study = Study(tmp_path, n_documents=20, n_chunks=2)
    bad = {"d7p0", "d7p1"}
    register(monkeypatch, lambda request: "" if chunk_of(request.messages) in bad else echo(request))
    assert statuses(study.build(share=0.05)) == {"ok": 38, "empty": 2}
    bad.add("d8p0")
    study.build(share=0.10, cache="other")
    with pytest.raises(ContextError, match="2 of 20"):
        study.build(share=0.05, cache="third")
    assert (study.folder / "contexts.failed.parquet").exists()
    bad.clear()
    study.build(share=0.05, cache="fourth")
    assert not (study.folder / "contexts.failed.parquet").exists()


def test_a_second_try_quotes_the_limit(study, monkeypatch):
    def answer(request):
        if len(request.messages) == 2:
            return words(100) if chunk_of(request.messages) == "d0p0" else echo(request)
        assert request.messages[2] == ("assistant", said(words(100)))
        assert "has 100 tokens; at most 80" in request.messages[3][1]
        return "Short now."

    engine = register(monkeypatch, answer)
    found = study.build()
    assert found["context"][0] == "Short now."
    assert found["status"][0] == "corrected"
    assert "100 tokens" in found["reason"][0]
    assert len(engine.asked) == 21


def test_what_is_too_long_even_then_is_cut_after_a_sentence(study, monkeypatch):
    long = f"{sentence(30)} {sentence(40)} {sentence(30)}"
    register(monkeypatch, lambda request: long if chunk_of(request.messages) == "d0p0" else echo(request))
    found = study.build()
    assert found["context"][0] == f"{sentence(30)} {sentence(40)}"
    assert found.select("status", "n_tokens").row(0) == ("cut", 70)


def test_a_useless_second_try_does_not_undo_the_first(study, monkeypatch):
    register(monkeypatch, lambda request: sentence(50) + " " + sentence(50) if len(request.messages) == 2 else "")
    found = study.build()
    assert set(found["context"]) == {sentence(50)}
    assert statuses(found) == {"cut": 20}


def test_an_answer_that_the_schema_stopped_is_not_taken_for_whole(study, monkeypatch):
    endless = sentence(20) + " " + "\u0303" * 900  # few tokens, many characters
    engine = register(monkeypatch, lambda request: endless[: 8 * 80])
    found = study.build()
    assert engine.asked[0].schema["properties"]["context"]["maxLength"] == 640
    assert statuses(found) == {"cut": 20}
    assert len(engine.asked) == 40


def test_half_a_surrogate_pair_becomes_readable(study, monkeypatch):
    register(monkeypatch, lambda request: Raw('{"context": "cats \\ud83d"}'))
    assert set(study.build()["context"]) == {"cats ?"}


def test_without_a_second_try_nothing_is_asked_twice(study, monkeypatch):
    engine = register(monkeypatch, lambda request: words(90))
    assert statuses(study.build(second_try=False)) == {"cut": 20}
    assert len(engine.asked) == 20


@given(
    st.lists(st.sampled_from([*NASTY, sentence(20), sentence(70), words(95)]), min_size=1, max_size=8).map(" ".join),
    st.integers(1, 80),
)
@settings(max_examples=60, deadline=None)
def test_no_context_is_longer_than_its_limit(tokenizer, text, limit):
    found = shorten(text, limit, tokenizer, "en")
    assert tokenizer.count(found) <= limit
    assert text.startswith(found)


def test_a_document_that_does_not_fit_is_shown_by_the_half_around_the_chunk(tmp_path, monkeypatch):
    study = Study(tmp_path, n_documents=2, n_chunks=8)
    engine = register(monkeypatch, echo)
    whole = study.build("whole")
    prompt = sum(len(content) for _, content in engine.asked[0].messages)
    fits = register(monkeypatch, echo)
    # the fake counts characters: half of the document fits, all of it does not
    found = study.build("halved", cache="small", engine={"max_model_len": prompt + 256 - 50})
    assert found["context"].equals(whole["context"])
    assert all("of its document, which is too long" in reason for reason in found["reason"])
    assert statuses(found) == {"ok": 16}
    for request in fits.asked:
        own = int(chunk_of(request.messages)[-1])
        shown = [int(n) for n in re.findall(r"d\dp(\d)", request.messages[1][1].split("<chunk>")[0])]
        assert own in shown
        assert shown == ([0, 1, 2, 3] if own < 4 else [4, 5, 6, 7])
    register(monkeypatch, echo)
    with pytest.raises(ContextError, match="too_long"):
        study.build("fail", cache="none", on_too_long="fail", engine={"max_model_len": prompt + 256 - 50})


def test_a_single_paragraph_that_does_not_fit_fails_alone(tmp_path, monkeypatch):
    study = Study(tmp_path)
    register(monkeypatch, echo)
    with pytest.raises(ContextError, match="4 of 4 documents"):
        study.build(engine={"max_model_len": 300})


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_fill_the_cache_and_the_artifact_does_not_depend_on_them(tmp_path, monkeypatch, shards):
    study = Study(tmp_path)
    bad = {"d1p3"}

    def answer(request):
        if len(request.messages) == 2 and chunk_of(request.messages) == "d2p0":
            return words(100)
        return "" if chunk_of(request.messages) in bad else echo(request)

    engine = register(monkeypatch, answer)
    alone = study.build("alone", share=0.25)
    n_alone = len(engine.asked)
    engine.asked.clear()
    parts = [study.shard(shard, shards, cache="sharded") for shard in range(shards)]
    assert sorted(part for frame in parts for part in frame["chunk_id"]) == sorted(study.chunks["chunk_id"])
    assert len(engine.asked) == n_alone
    gathered = study.build("gathered", share=0.25, cache="sharded", offline=True)
    assert len(engine.asked) == n_alone
    assert gathered.equals(alone)
    assert (study.folder / "gathered.parquet").read_bytes() == (study.folder / "alone.parquet").read_bytes()


def test_a_killed_shard_asks_only_for_what_is_missing(study, monkeypatch):
    def die(results):
        yield from results[:7]
        raise KeyboardInterrupt

    engine = register(monkeypatch, echo, die)
    with pytest.raises(KeyboardInterrupt):
        study.shard(0, 1)
    first = {request.id for request in engine.asked}
    engine = register(monkeypatch, echo)
    study.shard(0, 1)
    assert len(first) == 20
    assert len(engine.asked) == 13


def test_wrong_shards_and_kinds_are_refused(study, monkeypatch):
    register(monkeypatch, echo)
    with pytest.raises(ValueError, match="shard 2 of 2"):
        study.shard(2, 2)
    inputs = study.inputs() | {"definition": {"lead": {}}}
    with pytest.raises(ValueError, match="lead asks no language model"):
        complete_context_shard(completed="x", shard=0, shards=1, cache="c", **inputs)


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 0}, {"answer_tokens": 0}, {"on_too_long": "cut"}, {"sampling": {"temperature": -1}}]
)
def test_options_are_validated(wrong):
    with pytest.raises(ValueError, match=r"max_tokens|answer_tokens|on_too_long|temperature"):
        Options("m", **wrong)


def test_other_options_are_other_questions(study, monkeypatch):
    engine = register(monkeypatch, echo)
    study.build()
    study.build(max_tokens=60)
    study.build(sampling={"seed": 1})
    assert len(engine.asked) == 60


@pytest.fixture
def withheld(study, monkeypatch):
    """Contexts of which d1 lacks one and d2, which is unusable, has none asked for."""
    register(monkeypatch, lambda request: "" if chunk_of(request.messages) == "d1p3" else echo(request))
    study.chunks = study.chunks.filter(study.chunks["doc_id"] != "d2")
    CHUNKS.write(study.chunks, study.folder / "chunks.parquet")
    study.build(share=0.5)
    usable = [("d0", ""), ("d1", ""), ("d2", "structure gemma: unusable"), ("d3", "")]
    ELIGIBLE.write(
        ELIGIBLE.frame([{"doc_id": d, "eligible": not reason, "reason": reason} for d, reason in usable]),
        study.folder / "usable.parquet",
    )

    def run(contexts="contexts.parquet"):
        withhold(
            usable=str(study.folder / "usable.parquet"),
            chunks={"fixed.gemma": str(study.folder / "chunks.parquet")},
            contexts={"fixed.gemma": str(study.folder / contexts)} if contexts else {},
            eligible=str(study.folder / "eligible.parquet"),
        )
        select_chunks(
            candidates=str(study.folder / "chunks.parquet"),
            eligible=str(study.folder / "eligible.parquet"),
            chunks=str(study.folder / "final.parquet"),
        )
        return ELIGIBLE.read(study.folder / "eligible.parquet"), CHUNKS.read(study.folder / "final.parquet")

    return run


def test_a_document_that_lacks_a_context_is_eligible_nowhere(study, withheld, capsys):
    eligible, chunks = withheld()
    assert dict(eligible.select("doc_id", "eligible").iter_rows()) == {"d0": True, "d1": False, "d2": False, "d3": True}
    reasons = dict(eligible.select("doc_id", "reason").iter_rows())
    assert reasons["d1"].startswith("contexts fixed.gemma: 1 chunks without a context, the first is d1:")
    assert reasons["d2"] == "structure gemma: unusable"
    assert chunks["doc_id"].unique().sort().to_list() == ["d0", "d3"]
    assert chunks.equals(study.chunks.filter(study.chunks["doc_id"].is_in(["d0", "d3"])))
    assert "d1 is withheld" in capsys.readouterr().err


def test_without_contexts_nothing_is_withheld(study, withheld):
    eligible, chunks = withheld(None)
    assert eligible["eligible"].sum() == 3
    assert chunks.equals(study.chunks)


def test_contexts_of_other_chunks_are_refused(study, withheld):
    found = CONTEXTS.read(study.folder / "contexts.parquet")
    CONTEXTS.write(found.head(3), study.folder / "few.parquet")
    with pytest.raises(WithholdingError, match=r"chunk d0:.* is missing"):
        withheld("few.parquet")


def test_no_document_left_is_an_error(study, withheld, monkeypatch):
    register(monkeypatch, lambda request: "")
    study.build("none", share=1, cache="none")
    with pytest.raises(WithholdingError, match="no document is left"):
        withheld("none.parquet")
