import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import polars as pl
import pytest

from docstructure.contracts.contract import ContractError
from docstructure.llm.cache import CompletionCache, Entry, export_cache, import_cache, key_of
from docstructure.llm.request import Request, Result
from docstructure.llm.sampling import Sampling
from docstructure.llm.share import main

REQUEST = Request("a", (("system", "s"), ("user", "u")), 10, {"type": "object"})


def entry(text="text", reason="stop", key="0" * 64, error=""):
    return Entry(key, "fake:m@1", text, reason, 5, 2, error)


def test_what_decides_an_answer_is_in_the_key_and_nothing_else_is():
    key = key_of("vllm:m@1", REQUEST, Sampling())
    assert key == key_of("vllm:m@1", replace(REQUEST, id="b"), Sampling())
    others = [
        key_of("vllm:m@2", REQUEST, Sampling()),
        key_of("openai:m@1", REQUEST, Sampling()),
        key_of("vllm:m@1", replace(REQUEST, messages=(("system", "s"), ("user", "u "))), Sampling()),
        key_of("vllm:m@1", replace(REQUEST, messages=(("system", "su"), ("user", ""))), Sampling()),
        key_of("vllm:m@1", replace(REQUEST, messages=(("user", "s"), ("user", "u"))), Sampling()),
        key_of("vllm:m@1", replace(REQUEST, schema=None), Sampling()),
        key_of("vllm:m@1", replace(REQUEST, schema={"type": "array"}), Sampling()),
        key_of("vllm:m@1", replace(REQUEST, max_tokens=11), Sampling()),
        key_of("vllm:m@1", REQUEST, Sampling(temperature=0.1)),
        key_of("vllm:m@1", REQUEST, Sampling(top_p=0.9)),
        key_of("vllm:m@1", REQUEST, Sampling(seed=1)),
    ]
    assert len({key, *others}) == 12


def test_an_answer_comes_back_as_it_was(tmp_path):
    cache = CompletionCache(tmp_path / "cache")
    stored = entry("Grüße\r\n\u2028 \0 日本語 {{ x }}")
    assert cache.read(stored.key) is None
    cache.write(stored)
    assert cache.read(stored.key) == stored
    assert stored.result("r") == Result("r", stored.text, "stop", 5, 2)
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"text", b"tezt", 1),
        lambda data: data + b"x",
        lambda data: b"\x00" * len(data),
        lambda data: data.split(b"\n")[0] + b"\n",
    ],
)
def test_a_damaged_entry_is_reported_and_ignored(tmp_path, caplog, damage):
    cache = CompletionCache(tmp_path)
    cache.write(entry())
    path = cache.path("0" * 64)
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert cache.read("0" * 64) is None
    assert str(path) in caplog.text
    cache.write(entry("again"))
    assert cache.read("0" * 64).text == "again"


def test_an_entry_under_another_key_is_ignored(tmp_path):
    cache = CompletionCache(tmp_path)
    cache.write(entry())
    other = "00" + "1" * 62
    cache.path("0" * 64).rename(cache.path(other))
    assert cache.read(other) is None


def test_the_first_complete_answer_stands(tmp_path):
    cache = CompletionCache(tmp_path)
    cache.write(entry("", "error", error="no answer"))
    assert cache.read("0" * 64).finish_reason == "error"
    assert cache.write(entry("good")).text == "good"
    assert cache.write(entry("", "length")).text == "good"
    assert cache.write(entry("another")).text == "good"
    assert cache.read("0" * 64).text == "good"


@pytest.mark.parametrize("hard_links", [True, False])
def test_of_answers_written_at_once_one_stands_for_all(tmp_path, monkeypatch, hard_links):
    if not hard_links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError("no hard links here")))
    cache = CompletionCache(tmp_path)
    n_writers = 8 if hard_links else 1
    with ThreadPoolExecutor(n_writers) as pool:
        for n in range(50):
            key = f"{n:064x}"
            cache.write(entry("", "error", key=key))
            told = list(pool.map(lambda w, key=key: cache.write(entry(f"of {w}", key=key)).text, range(n_writers)))
            assert {*told, cache.read(key).text} == {told[0]}
    assert not list(tmp_path.rglob("*.partial"))


def test_import_mends_recorded_failures(tmp_path):
    CompletionCache(tmp_path / "a").write(entry("theirs"))
    export_cache(str(tmp_path / "a"), str(tmp_path / "a.parquet"))
    CompletionCache(tmp_path / "b").write(entry("", "error", error="the server was down"))
    assert import_cache(str(tmp_path / "a.parquet"), str(tmp_path / "b")) == 1
    assert CompletionCache(tmp_path / "b").read("0" * 64).text == "theirs"


def test_an_exported_cache_is_imported_whole_and_twice_is_once(tmp_path):
    cache = CompletionCache(tmp_path / "a")
    entries = [entry(f"t{n}", key=f"{n:064x}") for n in range(300)]
    entries[7] = entry("", "too_long", key=f"{7:064x}", error="too long")
    for one in reversed(entries):
        cache.write(one)
    assert export_cache(str(tmp_path / "a"), str(tmp_path / "a.parquet")) == 300
    assert import_cache(str(tmp_path / "a.parquet"), str(tmp_path / "b")) == 300
    assert list(CompletionCache(tmp_path / "b").entries()) == entries
    export_cache(str(tmp_path / "b"), str(tmp_path / "b.parquet"))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert import_cache(str(tmp_path / "a.parquet"), str(tmp_path / "b")) == 0


def test_import_keeps_what_is_there(tmp_path):
    CompletionCache(tmp_path / "a").write(entry("theirs"))
    export_cache(str(tmp_path / "a"), str(tmp_path / "a.parquet"))
    CompletionCache(tmp_path / "b").write(entry("ours"))
    import_cache(str(tmp_path / "a.parquet"), str(tmp_path / "b"))
    assert CompletionCache(tmp_path / "b").read("0" * 64).text == "ours"


def test_a_file_with_another_key_column_is_refused(tmp_path):
    CompletionCache(tmp_path / "a").write(entry())
    export_cache(str(tmp_path / "a"), str(tmp_path / "a.parquet"))
    pl.read_parquet(tmp_path / "a.parquet").with_columns(key=pl.lit("../../etc")).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ContractError, match="key is no SHA-256"):
        import_cache(str(tmp_path / "x.parquet"), str(tmp_path / "b"))


def test_keys_and_files_are_plain_ascii_json(tmp_path):
    cache = CompletionCache(tmp_path)
    cache.write(entry("ü\n"))
    checksum, body, end = cache.path("0" * 64).read_bytes().split(b"\n")
    assert len(checksum) == 64
    assert end == b""
    assert json.loads(body)["text"] == "ü\n"


def test_the_cache_is_shared_by_a_command(tmp_path):
    CompletionCache(tmp_path / "a").write(entry("theirs"))
    file, other = str(tmp_path / "a.parquet"), str(tmp_path / "b")
    assert main(["export", str(tmp_path / "a"), file]) == f"{file}: 1 answers of {tmp_path / 'a'}"
    assert main(["import", file, other]) == f"{other}: 1 answers added from {file}"
    assert list(CompletionCache(other).entries()) == list(CompletionCache(tmp_path / "a").entries())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", "nowhere", "x.parquet"], "nowhere: there is no such cache"),
        (["export", "empty", "x.parquet"], "empty: holds no answer; llm.cache in the config names the folder"),
        (["import", "nowhere", "empty"], "nowhere: there is no such file"),
        (["import", "text", "empty"], "text"),
    ],
)
def test_what_cannot_be_shared_is_said_and_writes_nothing(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no parquet")
    with pytest.raises(SystemExit, match=says):
        main(arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "text"]
    assert not any((tmp_path / "empty").iterdir())
