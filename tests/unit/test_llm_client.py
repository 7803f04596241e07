import logging

import pytest

from docstructure.llm.cache import export_cache, import_cache
from docstructure.llm.client import CacheMissError, Client
from docstructure.llm.request import Request, Result
from docstructure.llm.sampling import Sampling

from . import fake_llm

DEFINITION = {"fake": {"max_model_len": 50}}


def ask(*contents, max_tokens=10):
    return [Request(f"r{n}", (("user", content),), max_tokens) for n, content in enumerate(contents)]


def echo(request):
    return "to " + request.messages[-1][1]


def client(folder, **more):
    return Client(DEFINITION, str(folder), **more)


def test_an_answer_is_asked_for_once(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, echo)
    with client(tmp_path) as first:
        results = first.complete(ask("a", "b"))
        assert first.engine is not None
    assert {name: result.text for name, result in results.items()} == {"r0": "to a", "r1": "to b"}
    with client(tmp_path) as second:
        again = second.complete(ask("b", "a", "c"))
    assert [again[name].text for name in ("r0", "r1", "r2")] == ["to b", "to a", "to c"]
    assert [request.messages[0][1] for request in engine.asked] == ["a", "b", "c"]
    with client(tmp_path) as third:
        assert third.complete(ask("c"))["r0"].ok
        assert third.engine is None
    assert engine.started == 2


def test_out_of_order_dropped_failed_doubled_and_foreign_results(monkeypatch, tmp_path, caplog):
    def answer(request):
        content = request.messages[0][1]
        if content == "drop":
            return None
        if content == "fail":
            return Result(request.id, "half", "length", 1, 10, "cut")
        return echo(request)

    def order(results):
        return [Result("stranger", "x", "stop"), *results[::-1], Result(results[0].id, "a second answer", "stop")]

    fake_llm.register(monkeypatch, answer, order)
    with caplog.at_level(logging.WARNING), client(tmp_path) as one:
        results = one.complete(ask("a", "drop", "fail", "b"))
    assert list(results) == ["r0", "r1", "r2", "r3"]
    assert (results["r0"].text, results["r3"].text) == ("to a", "to b")
    assert (results["r1"].finish_reason, results["r1"].problem) == ("error", "error: the engine gave no answer")
    assert (results["r2"].ok, results["r2"].text) == (False, "half")
    assert "stranger" in caplog.text
    assert "r0" in caplog.text


def test_failures_are_asked_for_again_and_known_offline(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, lambda request: Result(request.id, "", "refused", error="no"))
    with client(tmp_path) as one:
        one.complete(ask("a"))
    with client(tmp_path, offline=True) as offline:
        assert offline.complete(ask("a"))["r0"].problem == "refused: no"
        with pytest.raises(CacheMissError, match=r"1 of 2 answers of fake:fake@1 .*request r1.*--forcerun"):
            offline.complete(ask("a", "b"))
    assert engine.started == 1
    fake_llm.register(monkeypatch, echo)
    with client(tmp_path) as two:
        assert two.complete(ask("a"))["r0"].text == "to a"


def test_an_offline_client_starts_no_engine(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, echo)
    with client(tmp_path, offline=True) as offline, pytest.raises(RuntimeError, match="offline"):
        offline.count((("user", "a"),))
    assert engine.started == 0


def test_a_prompt_that_is_too_long_is_never_sent_and_sinks_no_batch(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, echo)
    with client(tmp_path) as one:
        results = one.complete(ask("a", "x" * 41, "x" * 40))
    assert [results[name].finish_reason for name in results] == ["stop", "too_long", "stop"]
    assert "41" in results["r1"].error
    assert "50" in results["r1"].error
    assert len(engine.asked) == 2
    # what cannot change is not looked into again; a larger context is another matter
    with client(tmp_path) as two:
        assert two.complete(ask("x" * 41))["r0"].finish_reason == "too_long"
        assert two.engine is None
    with Client({"fake": {"max_model_len": 60}}, str(tmp_path)) as larger:
        assert larger.complete(ask("x" * 41))["r0"].ok


def test_equal_requests_are_sent_once_and_ids_are_unique(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, echo)
    with client(tmp_path) as one:
        results = one.complete(ask("a", "a", "a"))
        assert [result.id for result in results.values()] == ["r0", "r1", "r2"]
        assert len(engine.asked) == 1
        with pytest.raises(ValueError, match="'r0' is used twice"):
            one.complete([*ask("a"), *ask("b")])


def test_requests_keep_their_order_for_the_prefix_cache(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, echo)
    contents = [f"{n * 7 % 20:02d}" for n in range(20)]
    with client(tmp_path) as one:
        one.complete(ask(*contents))
    assert [request.messages[0][1] for request in engine.asked] == contents


def test_answers_before_a_crash_are_kept(monkeypatch, tmp_path):
    def order(results):
        yield from results[:2]
        raise RuntimeError("the GPU fell off the bus")

    fake_llm.register(monkeypatch, echo, order)
    with client(tmp_path) as one, pytest.raises(RuntimeError, match="bus"):
        one.complete(ask("a", "b", "c"))
    engine = fake_llm.register(monkeypatch, echo)
    with client(tmp_path) as two:
        assert all(result.ok for result in two.complete(ask("a", "b", "c")).values())
    assert [request.messages[0][1] for request in engine.asked] == ["c"]


def test_half_a_surrogate_pair_is_replaced(monkeypatch, tmp_path):
    fake_llm.register(monkeypatch, lambda request: "a\ud800b")
    with client(tmp_path / "a") as one:
        assert one.complete(ask("a"))["r0"].text == "a?b"
    export_cache(str(tmp_path / "a"), str(tmp_path / "a.parquet"))


def test_a_second_user_needs_no_engine(monkeypatch, tmp_path):
    fake_llm.register(monkeypatch, echo)
    with client(tmp_path / "a") as one:
        one.complete(ask("a", "x" * 45))
    export_cache(str(tmp_path / "a"), str(tmp_path / "a.parquet"))
    import_cache(str(tmp_path / "a.parquet"), str(tmp_path / "b"))
    engine = fake_llm.register(monkeypatch, echo)
    with client(tmp_path / "b") as two:
        results = two.complete(ask("a", "x" * 45))
    assert [result.finish_reason for result in results.values()] == ["stop", "too_long"]
    assert engine.started == 0


def test_sampling_is_part_of_the_question(monkeypatch, tmp_path):
    engine = fake_llm.register(monkeypatch, echo)
    for sampling in (Sampling(), Sampling(seed=1), Sampling()):
        with client(tmp_path, sampling=sampling) as one:
            one.complete(ask("a"))
    assert len(engine.asked) == 2


def test_an_undefined_model_is_named():
    with pytest.raises(ValueError, match=r"model gemma is not defined: definitions\.models has smol"):
        Client.named("gemma", {"smol": DEFINITION}, "cache")
    with pytest.raises(ValueError, match=r"llm\.cache"):
        Client.named("smol", {"smol": DEFINITION}, "")


@pytest.mark.parametrize(
    ("options", "says"), [({"temperature": -1}, "at least 0"), ({"top_p": 0}, "above 0"), ({"top_p": 2}, "at most 1")]
)
def test_sampling_is_checked(options, says):
    with pytest.raises(ValueError, match=says):
        Sampling(**options)
