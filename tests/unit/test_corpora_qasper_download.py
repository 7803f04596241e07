"""Downloads against a local server that fails in every way that servers do."""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from docstructure.corpora.corpus import CorpusError
from docstructure.corpora.download import fetch, verified

CONTENT = bytes(range(256)) * 512
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Answers each request by the next of its scripted steps; the last step repeats."""

    def __init__(self, steps):
        self.steps = list(steps)
        self.ranges = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.ranges.append(self.headers.get("Range"))
                step = outer.steps.pop(0) if len(outer.steps) > 1 else outer.steps[0]
                step(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self):
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/data/file%20one.tgz?x=1"
        return self

    def __exit__(self, *args):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def offset(handler):
    given = handler.headers.get("Range")
    return int(given.removeprefix("bytes=").rstrip("-")) if given else 0


def send(handler, status, body, length=None, **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def whole(handler):
    send(handler, 200, CONTENT)


def ranged(handler):
    start = offset(handler)
    if start >= len(CONTENT):
        send(handler, 416, b"")
    elif start:
        send(handler, 206, CONTENT[start:], Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
    else:
        whole(handler)


def cut(handler):
    start = offset(handler)
    if start:
        body = CONTENT[start : start + 30_000]
        send(handler, 206, body, len(CONTENT) - start, Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
    else:
        send(handler, 200, CONTENT[:30_000], len(CONTENT))


def refuse(status, **headers):
    return lambda handler: send(handler, status, b"no", **headers)


def wrong_range(handler):
    send(handler, 206, CONTENT[10:], Content_Range=f"bytes 10-{len(CONTENT) - 1}/{len(CONTENT)}")


def other(handler):
    send(handler, 200, b"x" + CONTENT[1:])


@pytest.fixture
def pauses():
    return []


def get(server, folder, pauses, **options):
    return fetch(server.url, SHA256.upper(), folder, timeout=5, sleep=pauses.append, **options)


def test_a_download_is_named_verified_and_not_repeated(tmp_path, pauses):
    with Server([whole]) as server:
        path = get(server, tmp_path / "new", pauses)
        assert path.read_bytes() == CONTENT
        assert path.name == f"{SHA256[:12]}-file one.tgz"
        assert get(server, tmp_path / "new", pauses) == path
        assert server.ranges == [None]
        assert pauses == []
        assert [file.name for file in path.parent.glob("[!.]*")] == [path.name]


def test_a_cut_transfer_is_continued(tmp_path, pauses):
    with Server([cut, cut, ranged]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert server.ranges == [None, "bytes=30000-", "bytes=60000-"]
        assert pauses == [1.0, 2.0]


def test_a_later_call_continues_what_a_killed_one_left(tmp_path, pauses):
    (tmp_path / f"{SHA256[:12]}-file one.tgz.partial").write_bytes(CONTENT[:1000])
    with Server([ranged]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert server.ranges == ["bytes=1000-"]


def test_a_server_without_ranges_sends_all_of_it_again(tmp_path, pauses):
    with Server([cut, whole]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert server.ranges == [None, "bytes=30000-"]


def test_a_complete_partial_file_needs_no_byte(tmp_path, pauses):
    (tmp_path / f"{SHA256[:12]}-file one.tgz.partial").write_bytes(CONTENT)
    with Server([ranged]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert server.ranges == [f"bytes={len(CONTENT)}-"]


def test_a_stale_partial_file_is_thrown_away(tmp_path, pauses):
    (tmp_path / f"{SHA256[:12]}-file one.tgz.partial").write_bytes(b"of another version")
    with Server([ranged]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert server.ranges == ["bytes=18-", None]


def test_a_wrong_range_is_not_appended(tmp_path, pauses):
    (tmp_path / f"{SHA256[:12]}-file one.tgz.partial").write_bytes(CONTENT[:1000])
    with Server([wrong_range, ranged]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert server.ranges == ["bytes=1000-", None]


def test_retry_after_is_honoured(tmp_path, pauses):
    with Server([refuse(429, Retry_After="7"), refuse(503), refuse(503, Retry_After="Wed, 21 Oct"), whole]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT
        assert pauses == [7.0, 2.0, 4.0]


def test_attempts_are_limited_and_what_came_is_kept(tmp_path, pauses):
    with (
        Server([cut]) as server,
        pytest.raises(CorpusError, match="not downloaded after 3 attempts: the transfer ended"),
    ):
        get(server, tmp_path, pauses, attempts=3)
    assert [file.stat().st_size for file in tmp_path.glob("*.partial")] == [90_000]


def test_a_refusal_is_final(tmp_path, pauses):
    with Server([refuse(404)]) as server:
        with pytest.raises(CorpusError, match="HTTP 404"):
            get(server, tmp_path, pauses)
        assert len(server.ranges) == 1


def test_other_bytes_are_refused_and_leave_nothing(tmp_path, pauses):
    with Server([other]) as server:
        with pytest.raises(CorpusError, match="after 1 attempts: sha256 is"):
            get(server, tmp_path, pauses)
        assert len(server.ranges) == 1
    assert list(tmp_path.glob("[!.]*")) == []


def test_a_damaged_file_is_fetched_again(tmp_path, pauses):
    (tmp_path / f"{SHA256[:12]}-file one.tgz").write_bytes(b"damaged")
    with Server([whole]) as server:
        assert get(server, tmp_path, pauses).read_bytes() == CONTENT


def test_a_server_that_is_not_there_is_tried_again(tmp_path, pauses):
    with Server([whole]) as server:
        url = server.url
    with pytest.raises(CorpusError, match="after 2 attempts: URLError"):
        fetch(url, SHA256, tmp_path, attempts=2, timeout=5, sleep=pauses.append)
    assert pauses == [1.0]


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://x/y", "data.tgz"])
def test_only_http_is_fetched(tmp_path, url):
    with pytest.raises(CorpusError, match="not an http or https URL"):
        fetch(url, SHA256, tmp_path)


def test_verified_names_a_missing_file(tmp_path):
    with pytest.raises(CorpusError, match="no such file"):
        verified(tmp_path / "absent", SHA256)


def test_two_that_want_one_file_download_it_once(tmp_path, pauses):
    def slow(handler):
        send(handler, 200, b"", len(CONTENT))
        for start in range(0, len(CONTENT), 16384):
            handler.wfile.write(CONTENT[start : start + 16384])
            time.sleep(0.03)

    with Server([slow]) as server, ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: get(server, tmp_path, pauses), range(4)))
        assert len(set(paths)) == 1
        assert paths[0].read_bytes() == CONTENT
        assert server.ranges == [None]


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path, pauses):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with Server([whole]) as server, pytest.raises(CorpusError, match=r"not downloaded to .*: Not a directory"):
        get(server, tmp_path / "file" / "cache", pauses)
