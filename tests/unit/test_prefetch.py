"""Models come from the hub at their commit and with the right bytes; after that the hub is not needed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docstructure.models import ModelError
from docstructure.prefetch import hub_models, prefetch, verify_snapshot

COMMIT = "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"
NAME = "org/tiny"
FILES = {"config.json": b'{"model_type": "bert"}', "model.safetensors": os.urandom(3000)}
SPEC = {"hub": NAME, "revision": COMMIT}
SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


class Hub(BaseHTTPRequestHandler):
    """As much of huggingface.co as a snapshot takes."""

    requests: list[str]
    files: dict[str, bytes]

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.requests.append(f"{self.command} {self.path}")
        path = self.path.split("?")[0]
        if path == f"/api/models/{NAME}/revision/{COMMIT}":
            siblings = [{"rfilename": name} for name in self.files]
            self.answer(json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode())
        elif path.startswith(f"/api/models/{NAME}/tree/{COMMIT}"):
            entries = [
                {"type": "file", "path": name, "size": len(data), "oid": etag(name)}
                for name, data in self.files.items()
            ]
            self.answer(json.dumps(entries).encode())
        elif path.startswith(f"/{NAME}/resolve/{COMMIT}/"):
            name = path.rsplit("/", 1)[1]
            self.answer(self.files[name], ETag=f'"{etag(name)}"', **{"X-Repo-Commit": COMMIT})
        else:
            self.send_error(404)

    def answer(self, body: bytes, **headers: str):
        self.send_response(200)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def etag(name: str) -> str:
    """As the hub names files: a small one by git's hash, a large one by sha256."""
    data = FILES[name]
    if name.endswith(".safetensors"):
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.fixture
def hub(tmp_path):
    handler = type("Handler", (Hub,), {"requests": [], "files": dict(FILES)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler, f"http://127.0.0.1:{server.server_port}", tmp_path / "hf"
    server.shutdown()


def run(call: str, endpoint: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a call in a fresh interpreter, since the hub's client reads its environment when it is imported."""
    code = f"from docstructure.prefetch import prefetch\nfrom docstructure.models import locate\n{call}"
    base = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    return subprocess.run(
        (sys.executable, "-c", code),
        capture_output=True,
        text=True,
        check=False,
        env=base
        | {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "PYTHONPATH": str(SCRIPTS)}
        | environment,
    )


DEFINITIONS = {"tokenizer": SPEC, "embedders": {"a": {"kind": {"model": SPEC}}}}
FETCH = f"prefetch(definitions={DEFINITIONS}, corpora={{}})"


def test_fetches_at_the_commit_and_then_needs_no_network(hub):
    handler, endpoint, home = hub
    done = run(FETCH, endpoint, home)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"{NAME}@{COMMIT}: 2 files") == 1
    assert all(COMMIT in request for request in handler.requests if NAME in request), handler.requests
    asked = len(handler.requests)
    offline = run(f"print(locate({SPEC}).folder)", endpoint, home, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert {file.name: file.read_bytes() for file in Path(offline.stdout.strip()).iterdir()} == FILES
    assert len(handler.requests) == asked


@pytest.mark.parametrize("damaged", FILES)
def test_other_bytes_than_the_hub_named_are_refused(hub, damaged):
    handler, endpoint, home = hub
    handler.files[damaged] = bytes(reversed(FILES[damaged]))
    done = run(FETCH, endpoint, home)
    assert done.returncode != 0
    assert f"{damaged}: its bytes are not those of {etag(damaged)}" in done.stderr


def test_offline_without_the_files_says_what_to_do(hub):
    _, endpoint, home = hub
    done = run(f"locate({SPEC})", endpoint, home, HF_HUB_OFFLINE="1")
    assert done.returncode != 0
    assert "prefetch" in done.stderr


@pytest.mark.parametrize("revision", ["main", "", "5c38ec7"])
def test_a_revision_that_can_move_is_refused(revision):
    with pytest.raises(ModelError, match="does not move"):
        prefetch(definitions={"tokenizer": {"hub": NAME, "revision": revision}}, corpora={})


def test_finds_models_at_any_depth():
    folder = {"folder": "models/x"}
    definitions = {"tokenizer": folder, "embedders": {"a": {"kind": {"model": SPEC, "max_length": 512}}}, "none": None}
    assert list(hub_models(definitions)) == [SPEC]


def test_every_corpus_is_built_once(tmp_path, capsys):
    (tmp_path / "kite.md").write_text("---\ntitle: Kite\n---\n\nA kite flies.\n\n## Use\n\nChildren fly it.\n")
    prefetch(
        definitions={}, corpora={"toy": {"markdown": {"folder": str(tmp_path), "articles": "*.md", "questions": None}}}
    )
    assert "corpus toy: 1 documents" in capsys.readouterr().err


def test_an_empty_snapshot_is_refused(tmp_path):
    with pytest.raises(ModelError, match="holds no file"):
        verify_snapshot(tmp_path)
