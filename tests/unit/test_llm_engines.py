import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from docstructure.llm.client import Client
from docstructure.llm.engines import ENGINES
from docstructure.llm.engines.engine import EngineError
from docstructure.llm.engines.guard import descendants, is_alive
from docstructure.llm.engines.openai import start
from docstructure.llm.request import Request
from docstructure.llm.sampling import Sampling

from .fake_llm import completion, messages_of, serving

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
HUB = {"hub": "google/gemma", "revision": "abc"}


def requests(n=1, **more):
    return [Request(f"r{index}", (("user", f"q{index}"),), 10, **more) for index in range(n)]


def ask(server, n=1, sampling=None, **more):
    options, _ = ENGINES.resolve(server.definition(**more))
    with start(options) as engine:
        return {result.id: result for result in engine.generate(requests(n), sampling or Sampling())}


def test_a_request_is_sent_as_the_server_expects_it():
    schema = {"type": "object"}
    with serving(lambda body: "{}") as server:
        options, _ = ENGINES.resolve(server.definition(body={"min_p": 0.1}))
        with start(options) as engine:
            (result,) = engine.generate(requests(schema=schema), Sampling(seed=3, top_p=0.5))
        (body,) = server.bodies
    assert (result.text, result.n_prompt_tokens, result.n_completion_tokens) == ("{}", 7, 3)
    assert body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "q0"}],
        "max_tokens": 10,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 3,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}},
        "chat_template_kwargs": {"enable_thinking": False},
        "min_p": 0.1,
    }


def test_results_belong_to_their_requests_whatever_comes_first():
    def answer(body):
        number = int(messages_of(body)[0][1][1:])
        time.sleep(0.002 * (20 - number))
        return f"a{number}"

    with serving(answer) as server:
        results = ask(server, 20, concurrency=20)
    assert {name: result.text for name, result in results.items()} == {f"r{n}": f"a{n}" for n in range(20)}


def test_concurrency_is_bounded():
    with serving(lambda body: "x", delay=0.02) as server:
        assert len(ask(server, 12, concurrency=3)) == 12
        assert server.most == 3


@pytest.mark.parametrize("first", [(503, {"error": "busy"}), (429, {}, [("Retry-After", "0")]), (500, {}), None])
def test_what_passes_is_tried_again(first):
    answers = [first, first, "good"]
    with serving(lambda body: answers.pop(0)) as server:
        assert ask(server)["r0"].text == "good"
        assert len(server.bodies) == 3


def test_retries_end_and_one_failure_is_one_failure():
    def answer(body):
        return (503, {"error": "overloaded"}) if messages_of(body)[0][1] == "q1" else "good"

    with serving(answer) as server:
        results = ask(server, 3, retries=2)
        assert len(server.bodies) == 2 + 3
    assert [results[f"r{n}"].finish_reason for n in range(3)] == ["stop", "error", "stop"]
    assert "HTTP 503" in results["r1"].error
    assert "overloaded" in results["r1"].error


def test_waits_double_and_a_server_may_set_them(monkeypatch):
    waits = []
    monkeypatch.setattr("docstructure.llm.engines.openai.time.sleep", waits.append)
    answers = [(503, {}), (503, {}), (429, {}, [("Retry-After", "7")]), (503, {}), "good"]
    with serving(lambda body: answers.pop(0)) as server:
        monkeypatch.setattr(server, "delay", 0)
        ask(server, backoff_s=0.5)
    assert [wait for wait in waits if wait] == [0.5, 1.0, 7.0, 4.0]


def test_a_bad_request_is_not_sent_again():
    with serving(lambda body: (400, {"error": "no such schema"})) as server:
        result = ask(server)["r0"]
        assert len(server.bodies) == 1
    assert "no such schema" in result.error


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_ends_the_job(status):
    with serving(lambda body: (status, {"error": "not here"})) as server, pytest.raises(EngineError, match="not here"):
        ask(server, 40, concurrency=1)
    assert len(server.bodies) < 40


def test_a_server_that_is_gone_ends_the_job():
    with serving(lambda body: "x") as server:
        definition = server.definition(retries=1)
    options, _ = ENGINES.resolve(definition)
    with start(options) as engine, pytest.raises(EngineError, match="does not answer any more"):
        list(engine.generate(requests(), Sampling()))
    with start(options) as engine, pytest.raises(EngineError, match="counting: bytes"):
        engine.count((("user", "x"),))


def test_a_request_that_kills_its_connection_fails_alone():
    with serving(lambda body: None if messages_of(body)[0][1] == "q0" else "good") as server:
        results = ask(server, 2, retries=1)
    assert (results["r0"].finish_reason, results["r1"].finish_reason) == ("error", "stop")


@pytest.mark.parametrize(
    ("body", "reason", "says"),
    [
        (completion("half", "length"), "length", "cut after 3 tokens"),
        (completion("", "content_filter"), "refused", "content_filter"),
        (completion(None, refusal="I won't"), "refused", "I won't"),
        (completion("", "tool_calls"), "error", "tool_calls"),
        ({"choices": []}, "error", "no chat completion"),
        ({"error": "x"}, "error", "no chat completion"),
        ([], "error", "no chat completion"),
        ("text", "error", "no chat completion"),
    ],
)
def test_how_an_answer_ended(body, reason, says):
    with serving(lambda _: (200, body)) as server:
        result = ask(server)["r0"]
    assert result.finish_reason == reason
    assert says in result.error
    assert not result.ok


def test_the_key_is_sent_and_never_said(monkeypatch, caplog):
    monkeypatch.setenv("SECRET_OF_MINE", "sk-verysecret")
    with serving(lambda body: (400, {"error": "bad key sk-verysecret"})) as server:
        result = ask(server, api_key_env="SECRET_OF_MINE")["r0"]
        assert server.headers_seen[0]["Authorization"] == "Bearer sk-verysecret"
    assert "verysecret" not in result.error + caplog.text
    assert "bad key ***" in result.error
    monkeypatch.delenv("SECRET_OF_MINE")
    with pytest.raises(EngineError, match="SECRET_OF_MINE"):
        start(ENGINES.resolve(server.definition(api_key_env="SECRET_OF_MINE"))[0])


def test_the_server_counts_prompts_and_over_long_ones_are_not_sent(tmp_path):
    with serving(lambda body: "x") as server, Client(server.definition(max_model_len=13), str(tmp_path)) as client:
        long = Request("long", (("user", "four"),), 10)
        results = client.complete([*requests(2), long])
        assert [result.finish_reason for result in results.values()] == ["stop", "stop", "too_long"]
        assert len(server.bodies) == 2


def test_bytes_are_never_too_few():
    options, _ = ENGINES.resolve(
        {"openai": {"base_url": "http://127.0.0.1:1", "model": "m", "max_model_len": 9, "counting": "bytes"}}
    )
    assert start(options).count((("user", "äß日"),)) == 4 + 7


def identity(definition):
    return Client(definition, "cache").identity


def test_identities_name_what_changes_an_answer_and_nothing_else():
    vllm = {"model": HUB, "max_model_len": 100}
    assert identity({"vllm": vllm}) == "vllm:google/gemma@abc"
    same = {"max_model_len": 200, "tensor_parallel": 2, "max_num_seqs": 1, "gpu_memory_utilization": 0.5}
    assert identity({"vllm": vllm | same}) == "vllm:google/gemma@abc"
    changed = [
        {"dtype": "float32"},
        {"load_format": "dummy"},
        {"chat_template_kwargs": {}},
        {"engine_args": {"quantization": "fp8"}},
        {"model": HUB | {"revision": "def"}},
    ]
    assert len({identity({"vllm": vllm | change}) for change in changed} | {identity({"vllm": vllm})}) == 6
    openai = {"base_url": "http://a/v1", "model": "m", "max_model_len": 100}
    assert identity({"openai": openai}) == identity({"openai": openai | {"base_url": "http://b/v1"}})
    assert identity({"openai": openai | {"revision": "r"}}) == "openai:m@r"
    assert identity({"transformers": {"model": HUB, "max_model_len": 9}}) == "transformers:google/gemma@abc"


def test_a_folder_is_what_its_files_say_unless_a_revision_is_stated(tmp_path):
    (tmp_path / "model").mkdir()
    definition = {"transformers": {"model": {"folder": str(tmp_path / "model")}, "max_model_len": 9}}
    one = identity(definition)
    assert one.startswith("transformers:model@")
    stated = {"folder": "/nowhere/model/", "revision": "v1"}
    assert identity({"transformers": {"model": stated, "max_model_len": 9}}) == "transformers:model@v1"


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ({"vllm": {"model": HUB, "max_model_len": 0}}, "max_model_len is 0"),
        ({"vllm": {"model": HUB, "max_model_len": 9, "tensor_parallel": 0}}, "tensor_parallel is 0"),
        ({"vllm": {"model": HUB, "max_model_len": 9, "gpu_memory_utilization": 1.5}}, "1.5"),
        ({"vllm": {"model": HUB, "max_model_len": 9, "engine_args": {"data_parallel_size": 2}}}, "data_parallel_size"),
        ({"vllm": {"model": HUB, "max_model_len": 9, "engine_args": {"dtype": "auto"}}}, "dtype"),
        ({"transformers": {"model": HUB, "max_model_len": 9, "dtype": "fp4"}}, "float32, bfloat16, float16"),
        ({"transformers": {"model": HUB, "max_model_len": 0}}, "max_model_len is 0"),
        ({"openai": {"base_url": "localhost", "model": "m", "max_model_len": 9}}, "begins with http"),
        ({"openai": {"base_url": "http://h", "model": "m", "max_model_len": 9, "concurrency": 0}}, "concurrency is 0"),
        ({"openai": {"base_url": "http://h", "model": "m", "max_model_len": 9, "counting": "x"}}, "server, tokenizer"),
        (
            {"openai": {"base_url": "http://h", "model": "m", "max_model_len": 9, "counting": "tokenizer"}},
            "goes with counting",
        ),
    ],
)
def test_options_are_checked(definition, says):
    with pytest.raises(ValueError, match=says):
        ENGINES.resolve(definition)


def test_a_hub_model_needs_a_revision():
    with pytest.raises(ValueError, match="org/m needs a revision"):
        _ = identity({"vllm": {"model": {"hub": "org/m"}, "max_model_len": 9}})


GRANDCHILD = """
import subprocess, sys, time
from docstructure.llm.engines.guard import no_orphans
with no_orphans():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(child.pid, flush=True)
    time.sleep({seconds})
    child.kill()
"""


@pytest.mark.parametrize("killed", [True, False])
def test_a_killed_job_leaves_no_children(killed):
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    source = GRANDCHILD.format(seconds=60 if killed else 0)
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment) as job:
        child = int(job.stdout.readline())
        (started,) = {started for pid, started in descendants(job.pid) if pid == child} or {""}
        if killed:
            assert is_alive(child, started)
            time.sleep(1.5)
            job.kill()
        assert job.wait(timeout=20) == (-9 if killed else 0)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and started and is_alive(child, started):
        time.sleep(0.1)
    assert not (started and is_alive(child, started))
