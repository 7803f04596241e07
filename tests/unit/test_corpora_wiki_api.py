"""The API builder against a local server that answers as MediaWiki does, with its faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from docstructure.corpora import mediawiki, wikicache
from docstructure.corpora.corpus import CorpusError
from docstructure.corpora.stage import build_corpus
from docstructure.registry import KindError

ROOT = Path(__file__).parents[2]
OUTPUTS = ("documents.parquet", "headings.parquet", "queries.parquet")


def article(name: str, extra: str = "") -> str:
    sections = "".join(
        f"== Part {number} ==\n{name} words of section {number}.\n=== Detail ===\nMore {extra}.\n"
        for number in range(3)
    )
    return f"'''{name}''' is [[x|known]].<ref>r</ref>\n{sections}== References ==\n* none\n"


@dataclass
class Wiki:
    """A small wiki: what it holds, which faults come next, and what it has handed out."""

    pages: dict[str, tuple[int, str, list[str]]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    unmentioned: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    stall_at: int | None = None
    delivered: Counter[int] = field(default_factory=Counter)
    agents: set[str] = field(default_factory=set)
    requests: list[tuple[float, dict[str, str]]] = field(default_factory=list)
    stalled: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def answer(self, asked: dict[str, str]) -> tuple[dict, list[int]]:
        if asked.get("list") == "categorymembers":
            begin = int(asked.get("cmcontinue", "0"))
            members = [{"ns": 0, "title": title} for title in self.listed[begin : begin + 7]]
            more = (
                {"continue": {"cmcontinue": str(begin + 7), "continue": "-||"}} if begin + 7 < len(self.listed) else {}
            )
            return {"query": {"categorymembers": members}, **more}, []
        if asked.get("prop") == "links":
            links = [{"ns": 0, "title": title} for title in self.listed]
            return {"query": {"pages": [{"title": asked["titles"], "links": links}]}}, []
        if "revids" in asked:
            return self.by_revision([int(number) for number in asked["revids"].split("|")])
        return self.by_title(asked)

    def by_revision(self, wanted: list[int]) -> tuple[dict, list[int]]:
        held = {number: (title, text) for title, (number, text, _) in self.pages.items() if number not in self.gone}
        pages = [
            {"title": held[number][0], "revisions": [revision(number, held[number][1])]}
            for number in wanted
            if number in held
        ]
        bad = {str(number): {"revid": number, "missing": True} for number in wanted if number not in held}
        return {"query": {"pages": pages, **({"badrevids": bad} if bad else {})}}, [n for n in wanted if n in held]

    def by_title(self, asked: dict[str, str]) -> tuple[dict, list[int]]:
        assert asked["redirects"] == "1"
        assert asked["clshow"] == "!hidden"
        steps, ends = [], []
        for title in asked["titles"].split("|"):
            seen = set()
            while title in self.redirects and title not in seen:
                seen.add(title)
                steps.append({"from": title, "to": self.redirects[title]})
                title = self.redirects[title]  # noqa: PLW2901 - that is what following is
            if title not in seen and title not in ends:
                ends.append(title)
        # the second half of the categories comes in a continuation, without the text again
        second = "clcontinue" in asked
        with_text = "revisions" in asked["prop"] and not second
        pages, handed = [], []
        for title in ends:
            if title in self.unmentioned:
                continue
            if title not in self.pages:
                pages.append({"ns": 0, "title": title, "missing": True})
                continue
            number, text, categories = self.pages[title]
            half = len(categories) // 2
            part = categories[half:] if second else categories[:half]
            page = {"title": title, "categories": [{"ns": 14, "title": f"Category:{name}"} for name in part]}
            if with_text:
                page["revisions"] = [revision(number, text)]
                handed.append(number)
            pages.append(page)
        query = {"pages": pages, **({"redirects": steps} if steps else {})}
        more = {} if second else {"continue": {"clcontinue": "1|x", "continue": "||revisions"}}
        return {"batchcomplete": second, "query": query, **more}, handed


def revision(number: int, text: str) -> dict:
    return {"revid": number, "parentid": 1, "slots": {"main": {"contentmodel": "wikitext", "content": text}}}


class Handler(BaseHTTPRequestHandler):
    wiki: Wiki

    def log_message(self, *_):
        pass

    def do_POST(self):
        wiki = self.wiki
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
        wiki.agents.add(self.headers["User-Agent"])
        wiki.requests.append((time.monotonic(), asked))
        if wiki.stall_at is not None and len(wiki.requests) == wiki.stall_at:
            wiki.stalled.set()
            time.sleep(60)
            return
        fault = wiki.faults.pop(0) if wiki.faults else ""
        if fault in {"429", "503", "403"}:
            self.send(int(fault), b"busy", {"Retry-After": "1"} if fault == "429" else {})
        elif fault == "429-long":
            self.send(429, b"busy", {"Retry-After": "86400"})
        elif fault == "maxlag":
            error = {"error": {"code": "maxlag", "info": "Waiting for db1: 6 seconds lagged.", "lag": 6}}
            self.send(200, json.dumps(error).encode(), {"Retry-After": "0"})
        elif fault == "badquery":
            self.send(200, json.dumps({"error": {"code": "badquery", "info": "no such thing"}}).encode(), {})
        else:
            answer, handed = wiki.answer(asked)
            data = json.dumps(answer).encode()
            if fault == "truncated":
                self.send(200, data[: len(data) // 2], {})
            elif fault == "cut":
                self.send(200, data[: len(data) // 2], {}, length=len(data))
            else:
                self.send(200, data, {})
                wiki.delivered.update(handed)

    def send(self, status: int, data: bytes, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data) if length is None else length)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def wiki(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    names = [f"Battle of Nr {number}" for number in range(12)] + [f"Owl {number}" for number in range(12)]
    pages = {
        name: (100 + index, article(name), ["Plain", "Battles of 1800"] if "Battle" in name else ["Night", "Birds"])
        for index, name in enumerate(names)
    }
    made = Wiki(pages, listed=[*names, "Gone", "Old name", "Loop A", "Also Owl 1"])
    made.pages["New name"] = (200, article("New name"), ["X", "Songs of 1990"])
    made.redirects = {
        "Old name": "Middle name",
        "Middle name": "New name",
        "Loop A": "Loop B",
        "Loop B": "Loop A",
        "Also Owl 1": "Owl 1",
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"wiki": made}))
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}/w/api.php"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()


def definition(wiki: Wiki, cache: Path, **api) -> dict:
    return {
        "wikipedia": {
            "source": {
                "api": {
                    "contact": "me@example.org", "api": wiki.url, "cache": str(cache), "batch": 5,
                    "backoff_seconds": 0.01, "retries": 4, "timeout_seconds": 20, **api,
                }
            },
            "n_docs": 100, "min_words": 20, "min_sections": 6, "max_per_bucket": 10,
            "topics": str(ROOT / "resources" / "topics.yaml"),
        }
    }  # fmt: skip


def build(definition: dict, folder: Path) -> dict[str, bytes]:
    build_corpus("fa", definition, *(str(folder / name) for name in OUTPUTS), str(folder / "funnel"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def reasons(folder: Path) -> dict[str, str]:
    import polars as pl

    return dict(pl.read_parquet(folder / "funnel" / "corpus.parquet").select("item_id", "reason").iter_rows())


def test_the_corpus_and_its_funnel(wiki, tmp_path):
    build(definition(wiki, tmp_path / "cache"), tmp_path / "out")
    found = reasons(tmp_path / "out")
    assert len(found) == len(wiki.listed)
    assert found["Gone"] == "missing: the wiki has no page Gone"
    assert found["Loop_A"].startswith("redirect_loop: ")
    assert found["Old_name"] == "arts_media"
    assert sorted(found[name] for name in ("Also_Owl_1", "Owl_1")) in (
        ["duplicate: the same page as Also Owl 1", "science_nature"],
        ["duplicate: the same page as Owl 1", "science_nature"],
        ["bucket_full: science_nature holds 10"] * 2,
        ["bucket_full: science_nature holds 10", "science_nature"],
    )
    assert Counter(reason.partition(":")[0] for reason in found.values()) >= Counter(
        {"history_war": 10, "science_nature": 10, "bucket_full": 3, "arts_media": 1}
    )
    assert all("me@example.org" in agent for agent in wiki.agents)
    assert all(asked["maxlag"] == "5" for _, asked in wiki.requests)
    # Owl 1 is asked for by two titles
    assert {
        number: count for number, count in wiki.delivered.items() if count != 1 and number != wiki.pages["Owl 1"][0]
    } == {}


def test_faults_change_neither_the_corpus_nor_the_number_of_deliveries(wiki, tmp_path):
    expected = build(definition(wiki, tmp_path / "calm"), tmp_path / "a")
    once = wiki.delivered.copy()
    wiki.delivered.clear()
    wiki.requests.clear()
    wiki.faults = [
        "429",
        "503",
        "maxlag",
        "truncated",
        "",
        "cut",
        "",
        "503",
        "truncated",
        "",
        "maxlag",
        "maxlag",
        "503",
    ]
    assert build(definition(wiki, tmp_path / "stormy"), tmp_path / "b") == expected
    assert wiki.faults == []
    assert wiki.delivered == once
    # Retry-After: 1 was waited out
    assert wiki.requests[1][0] - wiki.requests[0][0] >= 1.0
    # and what is cached is asked for no more
    wiki.requests.clear()
    assert build(definition(wiki, tmp_path / "stormy"), tmp_path / "c") == expected
    assert wiki.requests == []


@pytest.mark.parametrize("stall_at", range(5, 13))
def test_a_kill_in_the_middle_costs_no_page_twice(wiki, tmp_path, stall_at):
    expected = build(definition(wiki, tmp_path / "calm"), tmp_path / "a")
    once = wiki.delivered.copy()
    wiki.delivered.clear()
    wiki.requests.clear()
    wiki.stall_at = stall_at
    arguments = [
        definition(wiki, tmp_path / "cache"),
        *(str(tmp_path / "b" / name) for name in OUTPUTS),
        str(tmp_path / "b" / "funnel"),
    ]
    code = (
        "import json, sys; from docstructure.corpora.stage import build_corpus; "
        "build_corpus('fa', *json.loads(sys.argv[1]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow" / "scripts")},
    )
    assert wiki.stalled.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "b").exists()
    # four requests list the titles; then a batch is two, the first of them with the texts
    assert (sum(wiki.delivered.values()) > 0) == (stall_at > 5)
    assert sum(wiki.delivered.values()) < sum(once.values())
    wiki.stall_at = None
    assert build(definition(wiki, tmp_path / "cache"), tmp_path / "b") == expected
    assert wiki.delivered == once
    # Owl 1 is asked for by two titles
    assert {number for number, count in wiki.delivered.items() if count != 1} <= {wiki.pages["Owl 1"][0]}


def test_a_page_that_is_gone_when_its_categories_are_asked_for_is_missing(wiki, tmp_path):
    options = mediawiki.Options(contact="a@b.org", api=wiki.url, cache=str(tmp_path), retries=0)
    wiki.faults = ["", "badquery"]
    with pytest.raises(CorpusError, match="badquery"):
        list(mediawiki.open_source(options).pages(["Old name", "Owl 1"]))
    del wiki.pages["New name"]
    pages = list(mediawiki.open_source(options).pages(["Old name", "Owl 1"]))
    assert [page.problem for page in pages] == ["missing: the wiki has no page New name", ""]
    assert sorted(pages[1].categories) == ["Birds", "Night"]
    assert wiki.delivered[wiki.pages["Owl 1"][0]] == 1


def test_a_page_that_the_answer_does_not_mention_is_an_error_that_is_not_kept(wiki, tmp_path):
    options = mediawiki.Options(contact="a@b.org", api=wiki.url, cache=str(tmp_path))
    wiki.unmentioned = {"Owl 1"}
    with pytest.raises(CorpusError, match="the answer says nothing of 'Owl 1'"):
        list(mediawiki.open_source(options).pages(["Owl 1", "Owl 2"]))
    wiki.unmentioned = set()
    assert [page.problem for page in mediawiki.open_source(options).pages(["Owl 1", "Owl 2"])] == ["", ""]


def test_two_corpora_of_one_wiki_keep_a_manifest_each(wiki, tmp_path):
    first = definition(wiki, tmp_path / "cache")
    build(first, tmp_path / "a")
    (manifest,) = (tmp_path / "cache").rglob("manifest.csv")
    content = manifest.read_bytes()
    second = {"wikipedia": {**first["wikipedia"], "seed": 7, "n_docs": 3}}
    build(second, tmp_path / "b")
    build(first, tmp_path / "c")
    assert len(list((tmp_path / "cache").rglob("manifest.csv"))) == 2
    assert manifest.read_bytes() == content


def test_a_manifest_rebuilds_the_corpus_to_the_byte(wiki, tmp_path):
    expected = build(definition(wiki, tmp_path / "first"), tmp_path / "a")
    (manifest,) = (tmp_path / "first").rglob("manifest.csv")
    # the wiki moves on: other categories, a new article, another listing; the old revisions stay
    wiki.pages = {title: (number, text, ["Cities"]) for title, (number, text, _) in wiki.pages.items()}
    wiki.pages["Fresh"] = (300, article("Fresh"), ["Birds"])
    wiki.listed = ["Fresh"]
    wiki.redirects = {}
    rebuilt = build(definition(wiki, tmp_path / "second", manifest=str(manifest), category=""), tmp_path / "b")
    assert rebuilt == expected
    (again,) = (tmp_path / "second").rglob("manifest.csv")
    assert again.read_bytes() == manifest.read_bytes()
    wiki.gone = {105}
    with pytest.raises(CorpusError, match=r"manifest.csv: the wiki no longer gives revision 105 of Battle of Nr 5"):
        build(definition(wiki, tmp_path / "third", manifest=str(manifest)), tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_titles_of_a_list_page(wiki, tmp_path):
    source = mediawiki.open_source(
        mediawiki.Options(contact="a@b.org", api=wiki.url, list_page="Wikipedia:Featured articles", cache=str(tmp_path))
    )
    assert source.titles() == sorted(wiki.listed)
    wiki.listed = ["Other"]
    assert len(source.titles()) == 28


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        (["503"] * 9, r"gave up after 5 tries: HTTP 503; pages fetched so far are kept: run again"),
        (["429-long"], r"gave up after 1 tries: HTTP 429 \(it asks to wait 86400 s\)"),
        (["403"], r"HTTP 403"),
        (["badquery"], r"badquery: no such thing"),
    ],
)
def test_a_wiki_that_refuses_is_one_clear_error(wiki, tmp_path, faults, message):
    wiki.faults = faults
    with pytest.raises(CorpusError, match=message):
        build(definition(wiki, tmp_path / "cache"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_category_and_no_server(wiki, tmp_path):
    wiki.listed = []
    with pytest.raises(CorpusError, match=r"Category:Featured articles lists no article"):
        build(definition(wiki, tmp_path / "cache"), tmp_path / "out")
    with pytest.raises(CorpusError, match=r"gave up after 2 tries: URLError"):
        build(definition(wiki, tmp_path / "cache", api="http://127.0.0.1:9/w/api.php", retries=1), tmp_path / "out")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"contact": ""}, "contact is ''; name an e-mail address or user page"),
        ({"contact": "a\r\nb"}, "contact is"),
        ({"batch": 51}, "batch is 51; allowed are 1 to 50"),
        ({"api": "ftp://x"}, "api is 'ftp://x'"),
        ({"retries": -1}, "retries is -1"),
        ({"category": ""}, "give one of category, list_page or manifest"),
        ({"speed": 1}, "unknown option speed"),
    ],
)
def test_wrong_options_are_named(wiki, tmp_path, changed, message):
    with pytest.raises((ValueError, KindError), match=message):
        build(definition(wiki, tmp_path, **changed), tmp_path / "out")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such manifest"),
        (b"\xff", "not UTF-8"),
        (b"asked,title,revision,problem,categories\n", "has no row"),
        (b"asked,title\nA,A\n", "line 2: the columns are not"),
        (b"asked,title,revision,problem,categories\nA,A,,,\n", "line 2: .*no revision id"),
        (b"asked,title,revision,problem,categories\nA,A,1,,\nA,A,2,,\n", "line 3: a title that repeats"),
    ],
)
def test_a_bad_manifest_is_named(tmp_path, content, message):
    path = tmp_path / "manifest.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        wikicache.read_manifest(str(path))
