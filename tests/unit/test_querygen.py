"""The queries of a corpus, from spans to the balanced set, with a fake engine."""

import json
import re
from collections import Counter

import polars as pl
import pytest

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.funnel import FUNNEL
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.sections import SECTIONS
from docstructure.llm.request import Result
from docstructure.querygen import QUERIES as KINDS
from docstructure.querygen.generated import Options, read
from docstructure.querygen.leakage import leak
from docstructure.querygen.sampling import TYPES
from docstructure.querygen.stage import QueryError, complete_query_shard, generate_queries
from tests.unit import fake_llm

STEPS = ["sampling", "generation", "leakage", "paraphrase", "paraphrase_leakage", "naming", "distinct", "balance"]


class Study:
    def __init__(self, folder, n_documents=4):
        self.folder = folder
        documents, sections = [], []
        for number in range(n_documents):
            doc_id, parts, spans, position = f"d{number}", [], [], 0
            for index in range(6):
                text = " ".join(
                    f"The keeper {number}{index}{k} of Torvik lit a lamp on the wet rocks." for k in range(5)
                )
                parts.append(text)
                spans.append({"start": position, "end": position + len(text)})
                position += len(text) + 2
            text = "\n\n".join(parts)
            documents.append({
                "doc_id": doc_id, "title": f"Lighthouse {number}", "text": text, "paragraphs": spans,
                "source": None, "topic": None,
            })  # fmt: skip
            for section in range(3):
                start, end = 2 * section, 2 * section + 2
                sections.append({
                    "doc_id": doc_id, "section": section, "level": 1, "path": [f"Part {section}"],
                    "par_start": start, "par_end": end, "start": spans[start]["start"],
                    "end": spans[end]["start"] if end < 6 else len(text),
                })  # fmt: skip
        DOCUMENTS.write(DOCUMENTS.frame(documents), folder / "documents.parquet")
        SECTIONS.write(SECTIONS.frame(sections), folder / "gold.parquet")
        self.texts = {row["doc_id"]: row["text"] for row in documents}

    def inputs(self, cache, options):
        given = {"model": "m", "per_document": 2, "section_min": 100, **options}
        return {
            "definition": {"generated": given},
            "documents": str(self.folder / "documents.parquet"),
            "sections": str(self.folder / "gold.parquet"),
            "language": "en",
            "models": {"m": {"fake": {}}},
            "cache": str(self.folder / cache),
        }

    def build(self, name="queries", share=0.05, cache="cache", offline=False, **options):
        generate_queries(
            corpus="c",
            max_unusable_share=share,
            queries=str(self.folder / f"{name}.parquet"),
            funnel=str(self.folder / f"{name}_funnel"),
            offline=offline,
            **self.inputs(cache, options),
        )
        return QUERIES.read(self.folder / f"{name}.parquet")

    def shard(self, shard, shards, cache, **options):
        path = self.folder / f"shard{shard}.parquet"
        complete_query_shard(completed=str(path), shard=shard, shards=shards, **self.inputs(cache, options))
        return FUNNEL.read(path)

    def funnel(self, step, name="queries"):
        return FUNNEL.read(self.folder / f"{name}_funnel" / f"{step}.parquet")


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def question(text):
    return json.dumps({"question": text})


def is_paraphrase(request):
    return "in other words" in request.messages[0][1]


def answer(request):
    """Answer with a question that is its own for each query."""
    if is_paraphrase(request):
        return question(f"Say, {json_words(request.messages[1][1])}")
    return question(f"what happened {request.id.replace(':', ' ')}")


def json_words(text):
    return " ".join(reversed(text.rstrip("?").split()))


def test_a_query_goes_through_every_step(study, monkeypatch):
    engine = fake_llm.register(monkeypatch, answer)
    found = study.build()
    assert found.height == 4 * 4 * 2
    assert Counter(found["type"]) == dict.fromkeys(TYPES, 8)
    assert set(found["query_id"]) == {f"d{d}:{t}:{n}" for d in range(4) for t in TYPES for n in (1, 2)}
    row = found.row(by_predicate=pl.col("query_id") == "d1:multihop:2", named=True)
    assert row["query"] == "Say, 2 multihop d1 happened what"
    assert row["doc_id"] == "d1"
    assert len(row["spans"]) == 2
    assert len(engine.asked) == 64
    for step in STEPS:
        funnel = study.funnel(step)
        assert funnel.height == 32
        assert funnel["kept"].all()
        assert set(funnel["reason"]) == {""}
    assert sorted(path.stem for path in (study.folder / "queries_funnel").iterdir()) == sorted(STEPS)


def test_prompts_show_the_spans_that_become_the_evidence(study, monkeypatch):
    engine = fake_llm.register(monkeypatch, answer)
    spans = dict(study.build().select("query_id", "spans").iter_rows())
    for request in engine.asked:
        if is_paraphrase(request):
            assert "Torvik" not in request.messages[1][1]
            assert ("Stay as vague" in request.messages[0][1]) == (":underspecified:" in request.id)
        else:
            text = study.texts[request.id.partition(":")[0]]
            evidence = [text[span["start"] : span["end"]] for span in spans[request.id]]
            assert all(part in request.messages[1][1] for part in evidence)
            for heading in re.findall(r"[Ss]ection:? (Part \d)", request.messages[1][1]):
                assert heading in {"Part 0", "Part 1", "Part 2"}
            assert request.schema["required"] == ["question"]


@pytest.mark.parametrize(
    ("step", "bad", "reason"),
    [
        ("generation", lambda r: "no JSON at all", "failed: the answer is not JSON"),
        ("generation", lambda r: question("  "), "failed: the question has no words"),
        ("generation", lambda r: question("x" * 401), "failed: the question has 401 characters"),
        ("generation", lambda r: json.dumps(["question"]), "failed: the answer is not an object"),
        ("generation", lambda r: Result(r.id, question("cut"), "length", error="cut"), "failed: length: cut"),
        ("generation", lambda r: None, "failed: error: the engine gave no answer"),
        ("leakage", lambda r: question("why lit a lamp on the wet rocks"), "shared 4-gram: lit a lamp on"),
        ("paraphrase", lambda r: None, "failed: error"),
        ("paraphrase", lambda r: Result(r.id, "", "refused"), "failed: refused"),
        ("paraphrase_leakage", lambda r: question("why lit a lamp on the wet rocks"), "shared 4-gram: lit a lamp on"),
        ("naming", lambda r: question("what happened at that lighthouse 4"), "title: lighthouse"),
        ("naming", lambda r: question("what did they do in Torvik once"), "proper name: torvik"),
        ("distinct", lambda r: question("Say: 1 factoid d0 happened WHAT"), "repeats: d0:factoid:1"),
    ],
)
def test_what_is_dropped_where_and_why(study, monkeypatch, step, bad, reason):
    bad_id = "d2:underspecified:1"
    early = step in ("generation", "leakage")

    def mixed(request):
        return bad(request) if request.id == bad_id and is_paraphrase(request) != early else answer(request)

    fake_llm.register(monkeypatch, mixed)
    found = study.build()
    assert found.height == 31
    assert bad_id not in set(found["query_id"])
    for name in STEPS[: STEPS.index(step)]:
        assert study.funnel(name)["kept"].all()
    dropped = study.funnel(step).filter(~pl.col("kept"))
    assert dropped["item_id"].to_list() == [bad_id]
    assert dropped["reason"][0].startswith(reason)
    assert study.funnel(step).height == 32
    for name in STEPS[STEPS.index(step) + 1 :]:
        assert study.funnel(name).height == 31


def test_what_ships_passes_the_filter(study, monkeypatch):
    copies = iter(range(1000))

    def sloppy(request):
        return question("lit a lamp on the wet rocks") if next(copies) % 3 == 0 else answer(request)

    fake_llm.register(monkeypatch, sloppy)
    found = study.build()
    assert 0 < found.height < 32
    for doc_id, query, spans in found.select("doc_id", "query", "spans").iter_rows():
        assert leak(query, [study.texts[doc_id][span["start"] : span["end"]] for span in spans]) == ""


def test_only_underspecified_queries_must_not_name(study, monkeypatch):
    fake_llm.register(
        monkeypatch, lambda r: question(f"and Torvik {r.id.replace(':', ' ')}") if is_paraphrase(r) else answer(r)
    )
    assert Counter(study.build()["type"]) == {"factoid": 8, "multihop": 8, "structural": 8}


@pytest.mark.parametrize("garbage", ["", "garbage", "{}", '{"question": 3}'])
def test_garbage_to_everything_writes_its_counts_and_fails(study, monkeypatch, garbage):
    fake_llm.register(monkeypatch, lambda request: garbage)
    with pytest.raises(QueryError, match=r"generation: 32 of 32 requests failed .*5\.0%.*Look at column reason"):
        study.build()
    failed = FUNNEL.read(study.folder / "queries.failed.parquet")
    assert failed.height == 32
    assert not failed["kept"].any()
    assert not (study.folder / "queries.parquet").exists()
    assert study.funnel("generation").equals(failed)


def test_garbage_to_few_is_listed_and_the_run_goes_on(tmp_path, monkeypatch):
    study = Study(tmp_path, n_documents=9)  # 72 queries
    bad = {"d3:factoid:1", "d5:multihop:2"}
    fake_llm.register(monkeypatch, lambda r: "garbage" if r.id in bad else answer(r))
    found = study.build(share=0.03)
    assert found.height == 70
    assert set(study.funnel("generation").filter(~pl.col("kept"))["item_id"]) == bad
    with pytest.raises(QueryError, match="generation: 2 of 72"):
        study.build(share=0.02)
    assert (study.folder / "queries.failed.parquet").exists()
    study.build(share=0.03)
    assert not (study.folder / "queries.failed.parquet").exists()


def test_failed_paraphrases_count_against_the_budget_too(study, monkeypatch):
    fake_llm.register(monkeypatch, lambda r: "garbage" if is_paraphrase(r) else answer(r))
    with pytest.raises(QueryError, match="paraphrase: 32 of 32"):
        study.build()


def test_a_leaking_model_leaves_no_query(study, monkeypatch):
    fake_llm.register(monkeypatch, lambda r: question("lit a lamp on the wet rocks"))
    with pytest.raises(QueryError, match="no query is left of 32"):
        study.build()
    reasons = set(FUNNEL.read(study.folder / "queries.failed.parquet")["reason"])
    assert reasons == {"leakage: shared 4-gram: lit a lamp on"}


@pytest.mark.parametrize("order", [lambda results: results[::-1], lambda results: results[1::2] + results[::2]])
def test_results_out_of_order_find_their_queries(study, monkeypatch, order):
    fake_llm.register(monkeypatch, answer)
    expected = study.build(cache="straight")
    fake_llm.register(monkeypatch, answer, order)
    assert study.build().equals(expected)


def test_a_lost_answer_is_asked_for_again(study, monkeypatch):
    lost = set()

    def once(request):
        key = (request.id, is_paraphrase(request))
        if request.id == "d1:factoid:1" and key not in lost:
            lost.add(key)
            return None
        return answer(request)

    fake_llm.register(monkeypatch, once)
    assert study.build().height == 32
    assert len(lost) == 2


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_the_artifact_does_not_depend_on_shards(study, monkeypatch, shards):
    def some_bad(request):
        return "garbage" if request.id == "d1:factoid:2" else answer(request)

    engine = fake_llm.register(monkeypatch, some_bad)
    study.build("alone", cache="one", per_type=5)
    n_alone = len(engine.asked)
    engine.asked.clear()
    parts = [study.shard(shard, shards, "many", per_type=5) for shard in range(shards)]
    assert len(engine.asked) == n_alone
    assert sorted(item for part in parts for item in part["item_id"]) == sorted(
        study.funnel("sampling", "alone")["item_id"]
    )
    assert sum(part["kept"].sum() for part in parts) == 31
    study.build("gathered", cache="many", offline=True, per_type=5)
    assert len(engine.asked) == n_alone
    for name in ["queries", *STEPS]:
        alone, gathered = (
            study.folder / (f"{run}.parquet" if name == "queries" else f"{run}_funnel/{name}.parquet")
            for run in ("alone", "gathered")
        )
        assert alone.read_bytes() == gathered.read_bytes()


def test_a_killed_shard_asks_only_for_what_is_missing(study, monkeypatch):
    def die(results):
        yield from results[:10]
        raise KeyboardInterrupt

    fake_llm.register(monkeypatch, answer, die)
    with pytest.raises(KeyboardInterrupt):
        study.shard(0, 1, "cache")
    engine = fake_llm.register(monkeypatch, answer)
    study.shard(0, 1, "cache")
    assert len(engine.asked) == 64 - 10


def test_balance_spreads_over_the_documents(study, monkeypatch):
    fake_llm.register(monkeypatch, answer)
    found = study.build(per_type=5)
    assert Counter(found["type"]) == dict.fromkeys(TYPES, 5)
    for type_ in TYPES:
        counts = Counter(found.filter(type=type_)["doc_id"])
        assert set(counts) == {"d0", "d1", "d2", "d3"}
        assert max(counts.values()) == 2
    dropped = study.funnel("balance").filter(~pl.col("kept"))
    assert set(dropped["reason"]) == {"surplus: 5 per type"}
    assert study.build("again", per_type=5).equals(found)
    other = study.build("other", per_type=5, seed=1)
    assert set(other["query_id"]) != set(found["query_id"])


def test_documents_without_sections_get_no_queries(study, monkeypatch):
    sections = SECTIONS.read(study.folder / "gold.parquet")
    SECTIONS.write(sections.filter(sections["doc_id"] != "d1"), study.folder / "gold.parquet")
    fake_llm.register(monkeypatch, answer)
    assert set(study.build()["doc_id"]) == {"d0", "d2", "d3"}


def test_what_a_document_lacks_is_in_the_funnel_and_fails_nothing(study, monkeypatch):
    sections = SECTIONS.read(study.folder / "gold.parquet")
    below = pl.col("section") > 0
    one_top = sections.with_columns(
        path=pl.when(below).then(pl.lit(["Part 0", "x"])).otherwise(pl.lit(["Part 0"])),
        level=pl.when(below).then(2).otherwise(1).cast(pl.Int32),
    )
    SECTIONS.write(one_top, study.folder / "gold.parquet")
    fake_llm.register(monkeypatch, answer)
    assert Counter(study.build()["type"]) == {"factoid": 8, "underspecified": 8}
    lacking = study.funnel("sampling").filter(~pl.col("kept"))
    assert lacking.height == 16
    assert all(reason.startswith("sampling: ") for reason in lacking["reason"])


def test_wrong_shards_are_refused(study):
    with pytest.raises(ValueError, match="shard 2 of 2"):
        study.shard(2, 2, "cache")


@pytest.mark.parametrize(
    "wrong",
    [
        {"types": ["factoid", "why"]},
        {"types": []},
        {"types": ["factoid", "factoid"]},
        {"per_document": 0},
        {"per_type": 0},
        {"answer_tokens": 0},
        {"span_min": 700},
        {"ngram": 0},
        {"max_rouge_l": 2},
        {"sampling": {"top_p": 0}},
    ],
)
def test_options_are_validated(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)) if "sampling" not in wrong else "top_p"):
        KINDS.resolve({"generated": {"model": "m", **wrong}})


def test_the_defaults_are_the_papers():
    options = Options("m")
    assert options.per_type == 250
    assert options.limits.max_rouge_l == 0.35
    assert options.limits.ngram == 4
    assert tuple(options.types) == TYPES
    assert options.seed == 20260710


def test_half_a_surrogate_pair_becomes_readable():
    text, problem = read(Result("x", '{"question": "what \\ud83d is it"}', "stop"))
    assert problem == ""
    assert text.encode("utf-8")
