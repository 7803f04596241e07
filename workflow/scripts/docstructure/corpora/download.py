"""Downloads that end in the expected bytes or in an error: verified by sha256, resumed after a cut, tried again."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from docstructure.corpora.corpus import CorpusError

BLOCK = 1 << 20
LONGEST_PAUSE = 300.0
AGENT = "docstructure (research workflow)"
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


class _TransientError(Exception):
    """A transfer broke in a way that another attempt may mend."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def verified(path: Path, sha256: str) -> Path:
    """Return `path` when its bytes have this sha256.

    Raises
    ------
    CorpusError
        If there is no such file, or its bytes are others.
    """
    if not path.is_file():
        raise CorpusError(f"{path}: no such file")
    found = sha256_of(path)
    if found != sha256.lower():
        raise CorpusError(f"{path}: sha256 is {found}, expected {sha256.lower()}; it is another version or damaged")
    return path


def fetch(
    url: str,
    sha256: str,
    folder: Path,
    *,
    attempts: int = 5,
    timeout: float = 60.0,
    pause: float = 1.0,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Download `url` into `folder` and return the file; a file that is already there and right is not fetched again.

    What a broken transfer left is kept as ``*.partial`` and continued with a Range request, by this call or a later
    one. The file gets its name only when its sha256 is right. Of several processes that want one file, one downloads
    and the others wait for it.

    Parameters
    ----------
    url
        http or https.
    sha256
        Of the whole file, in hexadecimal.
    attempts
        Transfers in all; between them lie `pause`, 2 · `pause`, 4 · `pause` ... seconds, or what Retry-After asks.
    timeout
        Seconds without a byte after which a transfer counts as broken.

    Raises
    ------
    CorpusError
        If the server refuses, every attempt breaks, the bytes are not the expected ones, or `folder` cannot be
        written to.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise CorpusError(f"{url}: not an http or https URL; give a local file as `path`")
    expected = sha256.lower()
    target = folder / f"{expected[:12]}-{Path(unquote(parts.path)).name or 'download'}"
    try:
        if _is_there(target, expected):
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_name(f".{target.name}.lock")):
            # Another process may have brought it while this one waited.
            if not _is_there(target, expected):
                target.unlink(missing_ok=True)
                _download(url, expected, target, attempts=attempts, timeout=timeout, pause=pause, sleep=sleep)
    except OSError as error:
        raise CorpusError(f"{url}: not downloaded to {target}: {error.strerror or error}") from error
    return target


def _is_there(target: Path, expected: str) -> bool:
    return target.is_file() and sha256_of(target) == expected


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; the file stays, for removing it would let two processes hold two locks of one name."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _download(
    url: str,
    expected: str,
    target: Path,
    *,
    attempts: int,
    timeout: float,
    pause: float,
    sleep: Callable[[float], None],
) -> None:
    """Transfer a file until its bytes are the expected ones, then give it its name."""
    partial = target.with_name(target.name + ".partial")
    failure, wait = "", pause
    for attempt in range(attempts):
        if attempt:
            sleep(wait)
        resumed = partial.is_file() and partial.stat().st_size > 0
        try:
            _transfer(url, partial, timeout)
        except _TransientError as error:
            failure = str(error)
            wait = min(LONGEST_PAUSE, pause * 2**attempt if error.pause is None else error.pause)
            continue
        found = sha256_of(partial)
        if found == expected:
            partial.replace(target)
            return
        partial.unlink()
        failure, wait = f"sha256 is {found}, expected {expected}", 0.0
        if not resumed:  # A whole file with other bytes stays so; one put together of two transfers may not.
            break
    raise CorpusError(f"{url}: not downloaded after {attempt + 1} attempts: {failure}")


def _transfer(url: str, partial: Path, timeout: float) -> None:
    """Get what `partial` lacks of `url`; return when the server says that nothing is left."""
    have = partial.stat().st_size if partial.is_file() else 0
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            _append(response, partial, have)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            return
        if error.code in TRANSIENT:
            raise _TransientError(f"HTTP {error.code}", _retry_after(error.headers.get("Retry-After"))) from None
        raise CorpusError(f"{url}: HTTP {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise _TransientError(f"{type(error).__name__}: {error}") from error


def _append(response: http.client.HTTPResponse, partial: Path, have: int) -> None:
    """Write the body behind the bytes that are there, or anew where the server sends all of it."""
    continues = response.status == http.HTTPStatus.PARTIAL_CONTENT and (
        response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    )
    if response.status == http.HTTPStatus.PARTIAL_CONTENT and not continues:
        partial.unlink(missing_ok=True)
        raise _TransientError(f"the server sent {response.headers.get('Content-Range')!r}, asked for {have}-")
    length, received = response.headers.get("Content-Length"), 0
    with partial.open("ab" if continues else "wb") as handle:
        while block := response.read(BLOCK):
            handle.write(block)
            received += len(block)
    if length is not None and received < int(length):
        raise _TransientError(f"the transfer ended after {received} of {length} bytes")


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for; a date is left to the usual pause."""
    return float(value) if value is not None and value.strip().isdigit() else None
