"""The inducer and its stage, on a fake engine and on a fake server."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.headings import HEADINGS
from docstructure.contracts.sections import MAX_LEVEL, SECTIONS
from docstructure.contracts.structures import STRUCTURES
from docstructure.corpora.corpus import Paragraph, assemble, documents_frame
from docstructure.eligibility import build_eligible
from docstructure.llm.client import CacheMissError, Client
from docstructure.llm.request import Result
from docstructure.registry import KindError
from docstructure.structures import STRUCTURES as KINDS
from docstructure.structures.llm import Options, induce_by
from docstructure.structures.outcome import Flat, StructureError
from docstructure.structures.shard import complete_structure_shard
from docstructure.structures.stage import build_structure
from docstructure.tree import verify

from . import fake_llm
from .fake_llm import legal, messages_of, n_paragraphs, sections, serving

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
FAKE = {"m": {"fake": {}}}


def flat(doc_id="d", n=6, length=10):
    texts = [f"{doc_id} paragraph {index} " + "x" * length for index in range(n)]
    document = assemble(doc_id, "The Title", [Paragraph(text) for text in texts])
    return Flat(doc_id, document.text, tuple(document.paragraphs))


def induce(tmp_path, documents, definition=None, **options):
    with Client(definition or FAKE["m"], str(tmp_path / "cache")) as client:
        return list(induce_by(client, Options(model="m", **options), documents))


def by_document(answers):
    """Answer by which document a prompt is about; a second answer is for the correction."""

    def answer(request):
        doc_id = request.messages[1][1].split("[0] ")[1].split()[0]
        given = answers[doc_id]
        return given if isinstance(given, str) else given[len(request.messages) > 2]

    return answer


def shape(outcome):
    return [(section.path, section.level, section.par_start, section.par_end) for section in outcome.sections]


def test_the_prompt_shows_numbered_paragraphs_without_title(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: legal(6))
    induce(tmp_path, [flat()], max_tokens=77)
    (request,) = engine.asked
    assert [role for role, _ in request.messages] == ["system", "user"]
    prompt = request.messages[1][1]
    assert all(f"[{index}] d paragraph {index} x" in prompt for index in range(6))
    assert "The Title" not in str(request.messages)
    assert request.max_tokens == 77
    assert request.schema["properties"]["sections"]["items"]["properties"]["par_end"]["maximum"] == 6


def test_statuses(monkeypatch, tmp_path):
    gap = sections(("A", 1, 0, 2), ("B", 1, 3, 6))
    answers = {
        "ok": sections(("A", 1, 0, 2), ("B", 2, 2, 6)),
        "corrected": [gap, sections(("A", 1, 0, 3), ("B", 1, 3, 6))],
        "repaired": [gap, sections(("A", 1, 0, 2), ("B", 3, 2, 6))],
        "unusable": ["I would rather not", "{}"],
        "first": [gap, "No."],
        "far": [sections(("A", 1, 0, 1)), sections(("A", 1, 0, 2))],
    }
    engine = fake_llm.register(monkeypatch, by_document(answers))
    outcomes = {outcome.doc_id: outcome for outcome in induce(tmp_path, [flat(name) for name in answers])}
    assert list(outcomes) == list(answers)
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "ok": "ok",
        "corrected": "corrected",
        "repaired": "repaired",
        "unusable": "unusable",
        "first": "repaired",
        "far": "unusable",
    }
    assert outcomes["ok"].reason == ""
    assert shape(outcomes["ok"]) == [(("A",), 1, 0, 2), (("A", "B"), 2, 2, 6)]
    assert "paragraphs [2, 3) before it are in no section" in outcomes["corrected"].reason
    assert "level 3 after level 1" in outcomes["repaired"].reason
    assert shape(outcomes["repaired"]) == [(("A",), 1, 0, 2), (("A", "B"), 2, 2, 6)]
    assert 'list "sections"' in outcomes["unusable"].reason
    assert "its correction is of no use: the answer is not JSON" in outcomes["first"].reason
    assert shape(outcomes["first"]) == [(("A",), 1, 0, 3), (("B",), 1, 3, 6)]
    assert "cover 2 of 6" in outcomes["far"].reason
    assert len(engine.asked) == 6 + 5


def test_a_correction_quotes_the_answer_and_every_violation(monkeypatch, tmp_path):
    gap = sections(("A", 1, 0, 2), ("B", 4, 3, 6))
    engine = fake_llm.register(monkeypatch, by_document({"d": [gap, legal(6)]}))
    induce(tmp_path, [flat()])
    first, second = engine.asked
    assert second.messages[:2] == first.messages
    assert second.messages[2] == ("assistant", gap)
    role, text = second.messages[3]
    assert role == "user"
    assert "paragraphs [2, 3) before it are in no section" in text
    assert "level 4 after level 1" in text


def test_a_long_answer_that_is_none_and_many_violations_are_quoted_in_part(monkeypatch, tmp_path):
    many = sections(*[("A", 1, 5, 0)] * 500)
    engine = fake_llm.register(monkeypatch, by_document({"a": ["?" * 90_000, legal(6)], "b": [many, legal(6)]}))
    induce(tmp_path, [flat("a"), flat("b")])
    prose, numbers = engine.asked[2:]
    assert len(prose.messages[2][1]) < 2100
    assert numbers.messages[2][1] == many
    assert numbers.messages[3][1].count("\n- ") == 21
    assert "more of the same kinds" in numbers.messages[3][1]


def test_correction_can_be_off(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: "garbage")
    (outcome,) = induce(tmp_path, [flat()], correction_rounds=0)
    assert outcome.status == "unusable"
    assert len(engine.asked) == 1


def test_levels_are_clamped_and_paths_are_not(monkeypatch, tmp_path):
    rows = [(f"L{level}", level, level - 1, level) for level in range(1, 7)]
    fake_llm.register(monkeypatch, lambda request: sections(*rows))
    (outcome,) = induce(tmp_path, [flat()])
    assert outcome.status == "ok"
    assert [section.level for section in outcome.sections] == [1, 2, 3, 4, 4, 4]
    assert outcome.sections[-1].path == ("L1", "L2", "L3", "L4", "L5", "L6")
    assert MAX_LEVEL == 4


def failing(reasons):
    """Fail in one way per document, in both rounds."""

    def answer(request):
        doc_id = request.messages[1][1].split("[0] ")[1].split()[0]
        reason = reasons.get(doc_id, "stop")
        if reason == "drop":
            return None
        return legal(6) if reason == "stop" else Result(request.id, "{", reason, 1, 1, "as told")

    return answer


def test_failures_of_the_engine_are_reasons_and_sink_no_other(monkeypatch, tmp_path):
    reasons = {"a": "drop", "b": "length", "c": "refused", "d": "error"}
    engine = fake_llm.register(monkeypatch, failing(reasons), lambda results: results[::-1])
    outcomes = induce(tmp_path, [flat(name) for name in "abcdef"])
    assert [outcome.status for outcome in outcomes] == ["unusable"] * 4 + ["ok"] * 2
    for outcome, says in zip(outcomes, ("no answer", "length", "refused: as told", "error: as told"), strict=False):
        assert says in outcome.reason
    # only the answer that was cut is asked for again: for fewer sections
    assert len(engine.asked) == 7
    assert "cut off after 8192 tokens" in engine.asked[-1].messages[3][1]
    assert shape(outcomes[4]) == shape(outcomes[5])


def narrow(limit):
    return {"fake": {"max_model_len": limit}}


def test_a_document_that_is_too_long_is_split_in_halves(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: legal(n_paragraphs(request.messages)))
    documents = [flat("short", 2), flat("long", 16, 400), flat("other", 3)]
    outcomes = induce(tmp_path, documents, narrow(6000), max_tokens=100)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 3
    starts = [section.par_start for section in outcomes[1].sections]
    assert starts == [0, 4, 8, 12]
    assert not verify(outcomes[1].sections, documents[1].paragraphs, len(documents[1].text))
    # nothing is cut off: every paragraph was shown once
    shown = "".join(request.messages[1][1] for request in engine.asked)
    assert all(shown.count(text) == 1 for text in documents[1].paragraph_texts)


def test_halves_are_about_equal_in_characters_not_in_paragraphs(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: legal(n_paragraphs(request.messages)))
    texts = ["x" * 3000, *["y" * 300] * 10]
    document = assemble("d", "", [Paragraph(text) for text in texts])
    induce(tmp_path, [Flat("d", document.text, tuple(document.paragraphs))], narrow(6000), max_tokens=100)
    assert [n_paragraphs(request.messages) for request in engine.asked] == [1, 10]


def test_too_long_is_unusable_where_the_config_says_so(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: legal(n_paragraphs(request.messages)))
    outcomes = induce(
        tmp_path, [flat("long", 16, 400), flat("short", 3)], narrow(6000), on_too_long="unusable", max_tokens=9
    )
    assert [outcome.status for outcome in outcomes] == ["unusable", "ok"]
    assert "too_long: a prompt of" in outcomes[0].reason
    assert len(engine.asked) == 1


def test_one_paragraph_that_is_too_long_is_unusable_and_named(monkeypatch, tmp_path):
    fake_llm.register(monkeypatch, lambda request: legal(n_paragraphs(request.messages)))
    document = assemble("d", "", [Paragraph("a"), Paragraph("b" * 9000), Paragraph("c")])
    (outcome,) = induce(tmp_path, [Flat("d", document.text, tuple(document.paragraphs))], narrow(6000), max_tokens=9)
    assert outcome.status == "unusable"
    assert "(paragraphs 1 to 1)" in outcome.reason


def test_a_part_that_fails_is_never_papered_over(monkeypatch, tmp_path):
    def answer(request):
        return "garbage" if "paragraph 15" in request.messages[1][1] else legal(n_paragraphs(request.messages))

    fake_llm.register(monkeypatch, answer)
    (outcome,) = induce(tmp_path, [flat("long", 16, 400)], narrow(6000), max_tokens=100)
    assert outcome.status == "unusable"
    assert "not JSON" in outcome.reason
    assert "paragraphs 8 to 15" in outcome.reason


def test_a_correction_that_does_not_fit_leaves_the_first_answer_to_repair(monkeypatch, tmp_path):
    wrong = sections(("A" * 150, 1, 0, 3), ("B" * 150, 3, 3, 6))
    fake_llm.register(monkeypatch, lambda request: wrong)
    with Client(FAKE["m"], str(tmp_path / "other")) as client:
        list(induce_by(client, Options(model="m", max_tokens=9), [flat()]))
    limit = sum(len(text) for _, text in fake_llm.Engine.asked[0].messages) + 9
    (outcome,) = induce(tmp_path, [flat()], narrow(limit), max_tokens=9)
    assert outcome.status == "repaired"
    assert "its correction is of no use: too_long" in outcome.reason


def test_a_document_without_paragraphs_is_not_asked_about(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: legal(6))
    outcomes = induce(tmp_path, [Flat("none", "", ()), flat()])
    assert [outcome.status for outcome in outcomes] == ["unusable", "ok"]
    assert len(engine.asked) == 1


NUMBER = st.one_of(st.integers(-3, 9), st.sampled_from([10**40, -(10**40), None, True, 1.5, "2"]))
ROW = st.tuples(st.sampled_from(["A", "", " ", "é\n›", "\ud800", None, "x" * 500]), NUMBER, NUMBER, NUMBER)
WRITTEN = st.lists(ROW, max_size=12).map(lambda rows: sections(*rows))
ANSWERS = st.one_of(
    WRITTEN, st.tuples(WRITTEN, st.integers(0, 200)).map(lambda cut: cut[0][: cut[1]]), st.text(), st.just(legal(6))
)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=ANSWERS, second=ANSWERS)
def test_whatever_a_model_answers_is_a_verified_structure_or_a_reason(tmp_path_factory, first, second):
    document = flat()
    with pytest.MonkeyPatch.context() as monkeypatch:
        fake_llm.register(monkeypatch, by_document({"d": [first, second]}))
        (outcome,) = induce(tmp_path_factory.mktemp("fuzz"), [document])
    assert STRUCTURES.check(stage_frame([outcome]), "test").height == 1
    if outcome.status == "unusable":
        assert outcome.reason
    else:
        assert verify(outcome.sections, document.paragraphs, len(document.text)) == []
        assert (outcome.status == "ok") == (outcome.reason == "")


def stage_frame(outcomes):
    from docstructure.structures.stage import structures_frame

    return structures_frame(outcomes)


@pytest.mark.parametrize(
    "rows",
    [
        [("A", 1, index, index + 1) for index in range(10_000)],
        [("A", level % 12, level % 7, level % 5) for level in range(10_000)],
        [("A", 1, 0, 6)] * 10_000,
        [("A", level, 0, 6) for level in range(1, 10_001)],
        [("A", 10_000 - index, 6 - index % 6, 0) for index in range(10_000)],
    ],
)
def test_ten_thousand_sections(monkeypatch, tmp_path, rows):
    fake_llm.register(monkeypatch, lambda request: sections(*rows))
    document = flat()
    (outcome,) = induce(tmp_path, [document])
    assert outcome.status in {"repaired", "unusable"}
    assert len(outcome.reason) < 2000
    if outcome.status == "repaired":
        assert verify(outcome.sections, document.paragraphs, len(document.text)) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "option model is missing"),
        ({"model": "m", "temperature": 0}, "unknown option temperature"),
        ({"model": "m", "max_tokens": 0}, "max_tokens is 0"),
        ({"model": "m", "on_too_long": "cut"}, "split, unusable"),
        ({"model": "m", "correction_rounds": 2}, "0 or 1"),
        ({"model": "m", "sampling": {"temperature": -1}}, "temperature is -1"),
    ],
)
def test_options_are_checked(options, says):
    with pytest.raises((ValueError, KindError), match=says):
        KINDS.resolve({"llm": options})


# --- the stage ---


@pytest.fixture
def corpus(tmp_path):
    """A hundred documents of six paragraphs."""
    documents = [
        assemble(f"d{index:03d}", "T", [Paragraph(f"d{index:03d} paragraph {number}") for number in range(6)])
        for index in range(100)
    ]
    DOCUMENTS.write(documents_frame(documents), tmp_path / "documents.parquet")
    HEADINGS.write(HEADINGS.frame([]), tmp_path / "headings.parquet")
    return tmp_path


def build(folder, models=None, to="out", cache="cache", **more):
    build_structure(
        definition={"llm": {"model": "m"}},
        corpus="demo",
        structure="gemma",
        documents=str(folder / "documents.parquet"),
        headings=str(folder / "headings.parquet"),
        max_unusable_share=0.05,
        structures=str(folder / to / "structures.parquet"),
        sections=str(folder / to / "sections.parquet"),
        models=models or FAKE,
        cache=str(folder / cache),
        **more,
    )


def fill(folder, shard, shards, models=None, cache="cache"):
    complete_structure_shard(
        definition={"llm": {"model": "m"}},
        corpus="demo",
        structure="gemma",
        documents=str(folder / "documents.parquet"),
        models=models or FAKE,
        cache=str(folder / cache),
        shard=shard,
        shards=shards,
        completed=str(folder / f"{shard}-of-{shards}.parquet"),
    )


def artifact(folder, to="out"):
    return [(folder / to / name).read_bytes() for name in ("structures.parquet", "sections.parquet")]


def test_garbage_everywhere_fails_with_its_counts_and_what_to_look_at(monkeypatch, corpus):
    fake_llm.register(monkeypatch, lambda request: "As an AI, I")
    with pytest.raises(StructureError) as error:
        build(corpus)
    failed = corpus / "out" / "structures.failed.parquet"
    for part in ("100 of 100", "5.0%", str(failed), "column reason", "d000: the answer is not JSON", "and 95 more"):
        assert part in str(error.value)
    counts = STRUCTURES.read(failed)
    assert counts["status"].to_list() == ["unusable"] * 100
    assert all("not JSON" in reason for reason in counts["reason"])
    assert not (corpus / "out" / "sections.parquet").exists()
    # mended, the run goes on and the old counts go away
    fake_llm.register(monkeypatch, lambda request: legal(6))
    build(corpus, cache="another")
    assert not failed.exists()


def test_a_little_garbage_is_listed_dropped_and_ineligible(monkeypatch, corpus):
    bad = {"d007", "d050", "d099"}

    def answer(request):
        return "garbage" if any(f"{doc_id} " in request.messages[1][1] for doc_id in bad) else legal(6)

    fake_llm.register(monkeypatch, answer)
    build(corpus)
    structures = STRUCTURES.read(corpus / "out" / "structures.parquet")
    assert set(structures.filter(status="unusable")["doc_id"]) == bad
    assert set(SECTIONS.read(corpus / "out" / "sections.parquet")["doc_id"]).isdisjoint(bad)
    build_eligible(
        documents=str(corpus / "documents.parquet"),
        structures={"gemma": str(corpus / "out" / "structures.parquet")},
        queries=None,
        require_queries=False,
        eligible=str(corpus / "eligible.parquet"),
    )
    import polars as pl

    eligible = pl.read_parquet(corpus / "eligible.parquet")
    assert set(eligible.filter(~pl.col("eligible"))["doc_id"]) == bad


def mixed(messages):
    """Answer by document: legal, wrong once, wrong always; the same for the same prompt."""
    kind = int(messages[1][1].split("[0] d")[1][:3]) % 10
    if kind == 3 and len(messages) == 2:
        return sections(("A", 1, 0, 2), ("B", 1, 3, 6))
    return sections(("A", 1, 0, 2), ("B", 5, 2, 6)) if kind == 4 else legal(6)


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_the_artifact_does_not_depend_on_the_number_of_shards(monkeypatch, corpus, shards):
    engine = fake_llm.register(monkeypatch, lambda request: mixed(request.messages))
    build(corpus, to="direct", cache="other")
    asked = len(engine.asked)
    for shard in random.Random(shards).sample(range(shards), shards):
        fill(corpus, shard, shards)
    assert len(engine.asked) == 2 * asked == 2 * 120
    started = engine.started
    build(corpus, offline=True)
    assert engine.started == started
    assert artifact(corpus) == artifact(corpus, "direct")
    parts = [STRUCTURES.read(corpus / f"{shard}-of-{shards}.parquet") for shard in range(shards)]
    assert sum(part.height for part in parts) == 100
    assert sum(part.filter(status="corrected").height for part in parts) == 10


def test_failures_have_the_same_reasons_after_shards(monkeypatch, corpus):
    def answer(request):
        if "d050 " in request.messages[1][1]:
            return Result(request.id, "", "refused", 1, 0, "no comment")
        return None if "d051 " in request.messages[1][1] else mixed(request.messages)

    fake_llm.register(monkeypatch, answer)
    build(corpus, to="direct", cache="other")
    for shard in range(2):
        fill(corpus, shard, 2)
    build(corpus, offline=True)
    assert artifact(corpus) == artifact(corpus, "direct")
    reasons = dict(STRUCTURES.read(corpus / "out" / "structures.parquet").select("doc_id", "reason").iter_rows())
    assert reasons["d050"] == "refused: no comment"
    assert "no answer" in reasons["d051"]


def test_a_shard_that_was_not_run_is_missed(monkeypatch, corpus):
    fake_llm.register(monkeypatch, lambda request: legal(6))
    fill(corpus, 0, 2)
    with pytest.raises(CacheMissError, match="50 of 100 answers"):
        build(corpus, offline=True)
    assert not (corpus / "out").exists()


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_the_order_of_results_changes_nothing(monkeypatch, corpus, order):
    fake_llm.register(monkeypatch, lambda request: mixed(request.messages))
    build(corpus, to="in_order", cache="other")
    shuffled = lambda results: random.Random(1).sample(results, len(results))  # noqa: E731
    fake_llm.register(
        monkeypatch,
        lambda request: mixed(request.messages),
        (lambda results: results[::-1]) if order == "reversed" else shuffled,
    )
    build(corpus)
    assert artifact(corpus) == artifact(corpus, "in_order")


def test_a_damaged_cache_entry_is_made_again_alone(monkeypatch, corpus, caplog):
    engine = fake_llm.register(monkeypatch, lambda request: mixed(request.messages))
    build(corpus)
    before, asked = artifact(corpus), len(engine.asked)
    entries = sorted((corpus / "cache").rglob("*.json"))
    assert len(entries) == asked
    for entry in entries[:2]:
        entry.write_bytes(entry.read_bytes()[:-9])
    build(corpus)
    assert len(engine.asked) == asked + 2
    assert artifact(corpus) == before
    assert caplog.text.count("is damaged and ignored") == 2


def test_shards_are_checked(monkeypatch, corpus):
    fake_llm.register(monkeypatch, lambda request: legal(6))
    with pytest.raises(ValueError, match="counted from 0"):
        fill(corpus, 2, 2)
    with pytest.raises(ValueError, match="asks no language model"):
        complete_structure_shard(
            definition={"texttiling": {}},
            corpus="c",
            structure="texttiling",
            documents="",
            models={},
            cache="",
            shard=0,
            shards=1,
            completed="",
        )


# --- on a server, in processes of their own ---

FILL = """
import json, sys
from docstructure.structures.shard import complete_structure_shard
complete_structure_shard(**json.loads(sys.argv[1]))
"""


def job(corpus, models, shard=0, shards=1):
    keywords = {
        "definition": {"llm": {"model": "m"}},
        "corpus": "demo",
        "structure": "gemma",
        "documents": str(corpus / "documents.parquet"),
        "models": models,
        "cache": str(corpus / "cache"),
        "shard": shard,
        "shards": shards,
        "completed": str(corpus / f"{shard}-of-{shards}.parquet"),
    }
    return subprocess.Popen(
        [sys.executable, "-c", FILL, json.dumps(keywords)], env={**os.environ, "PYTHONPATH": str(SCRIPTS)}
    )


def answer(body):
    return mixed(messages_of(body))


def test_after_kill_9_only_what_was_missing_is_sent(corpus):
    with serving(answer, delay=0.05) as server:
        models = {"m": server.definition(concurrency=4)}
        killed = job(corpus, models)
        while len(server.bodies) < 40:
            assert killed.poll() is None
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL
        time.sleep(0.2)
        stored = {path.stem for path in (corpus / "cache").rglob("*.json")}
        assert 10 <= len(stored) <= len(server.bodies) < 100
        sent = len(server.bodies)
        assert job(corpus, models).wait(timeout=60) == 0
        assert len(server.bodies) - sent == 120 - len(stored)
        build(corpus, models, offline=True)
        build(corpus, models, to="direct", cache="other")
    assert artifact(corpus) == artifact(corpus, "direct")


def test_two_shards_at_once_give_what_one_gives(corpus):
    with serving(answer, delay=0.01) as server:
        models = {"m": server.definition(concurrency=4)}
        jobs = [job(corpus, models, shard, 2) for shard in range(2)]
        assert [one.wait(timeout=60) for one in jobs] == [0, 0]
        assert len(server.bodies) == 120
        build(corpus, models, offline=True)
        build(corpus, models, to="direct", cache="other")
    assert artifact(corpus) == artifact(corpus, "direct")


def test_two_jobs_on_the_same_documents_do_not_disturb_each_other(corpus):
    with serving(answer, delay=0.005) as server:
        models = {"m": server.definition(concurrency=8)}
        jobs = [job(corpus, models), job(corpus, models)]
        assert [one.wait(timeout=60) for one in jobs] == [0, 0]
        sent = len(server.bodies)
        assert 120 <= sent <= 240
        build(corpus, models, offline=True)
    assert len(list((corpus / "cache").rglob("*.json"))) == 120
    assert not list((corpus / "cache").rglob("*.partial"))
