"""A fake engine, and a fake OpenAI-compatible server on the loopback that counts what it is asked."""

import json
import re
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from docstructure.llm.engines import ENGINES
from docstructure.llm.request import Result


@dataclass(frozen=True)
class Options:
    """Options of the fake engine; what it answers is `answer`, set by `register`."""

    name: str = "fake"
    max_model_len: int = 100_000

    @property
    def identity(self):
        return f"{self.name}@1"


class Engine:
    """Answers by a function from a request to a result, or to a text."""

    answer = None
    order = staticmethod(lambda results: results)
    started = 0
    asked: list = []  # noqa: RUF012 (reset by `register`)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def count(self, messages):
        return sum(len(content) for _, content in messages)

    def generate(self, requests, sampling):
        Engine.asked += requests
        results = []
        for request in requests:
            result = Engine.answer(request)
            results.append(Result(request.id, result, "stop", 1, 1) if isinstance(result, str) else result)
        yield from Engine.order([result for result in results if result is not None])


def start(options):
    Engine.started += 1
    return Engine()


def register(monkeypatch, answer, order=None):
    """Register this module as the engine kind ``fake``; return the engine's class, which holds its counts."""
    monkeypatch.setitem(ENGINES.modules, "fake", "fake_engine")
    monkeypatch.setitem(sys.modules, "docstructure.fake_engine", sys.modules[__name__])
    monkeypatch.setattr(Engine, "answer", staticmethod(answer))
    monkeypatch.setattr(Engine, "order", staticmethod(order or (lambda results: results)))
    monkeypatch.setattr(Engine, "started", 0)
    monkeypatch.setattr(Engine, "asked", [])
    return Engine


def n_paragraphs(messages):
    """Return how many paragraphs the document of an induction prompt has."""
    return int(re.search(r"The document has (\d+) paragraphs", messages[1][1]).group(1))


def sections(*rows):
    """Return the JSON of sections given as (title, level, par_start, par_end)."""
    return json.dumps(
        {"sections": [dict(zip(("title", "level", "par_start", "par_end"), row, strict=True)) for row in rows]}
    )


def legal(n):
    """Return a legal answer for a document of n paragraphs."""
    if n == 1:
        return sections(("All", 1, 0, 1))
    return sections(("First", 1, 0, n // 2), ("Second", 2, n // 2, n))


class FakeServer(ThreadingHTTPServer):
    """A chat-completions server; `answer` gets the request's body and returns (status, body) or a text."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer, delay=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.delay = delay
        self.lock = threading.Lock()
        self.bodies = []
        self.headers_seen = []
        self.now = self.most = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def definition(self, **more):
        options = {"base_url": self.url, "model": "fake", "max_model_len": 100_000, "backoff_s": 0.01}
        return {"openai": {**options, **more}}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self._reply(200, {"data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        if self.path == "/tokenize":
            self._reply(200, {"count": sum(len(message["content"]) for message in body["messages"])})
            return
        with server.lock:
            server.bodies.append(body)
            server.headers_seen.append(dict(self.headers))
            server.now += 1
            server.most = max(server.most, server.now)
        time.sleep(server.delay)
        answer = server.answer(body)
        with server.lock:
            server.now -= 1
        if answer is None:
            self.close_connection = True
            return
        status, payload, *headers = (200, completion(answer)) if isinstance(answer, str) else answer
        self._reply(status, payload, *headers)

    def _reply(self, status, payload, headers=()):
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def completion(text, reason="stop", **message):
    return {
        "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }


@contextmanager
def serving(answer, delay=0.0):
    """Run a fake server; `answer(body)` returns a text, (status, body) or None (the connection is dropped)."""
    server = FakeServer(answer, delay)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def messages_of(body):
    return [(message["role"], message["content"]) for message in body["messages"]]
