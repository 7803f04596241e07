"""The normaliser in a process of its own: a page that takes too long, or takes the process down, costs itself only.

A signal does not help: mwparserfromhell's tokenizer is C code that returns to Python when it is done. A process can be
killed. It speaks JSON, one line a page, over its standard streams.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from docstructure.corpora.corpus import Block, Heading, Paragraph
from docstructure.corpora.wikipage import NormaliseError, Page
from docstructure.corpora.wikitemplates import fold, keep
from docstructure.corpora.wikitext import normalise

_START = "from docstructure.corpora.wikiprocess import serve; serve()"
_MEMORY = 8 << 30
_READ = 1 << 20


class NormaliserProcess:
    """Normalises pages one after another under a time limit; a context manager.

    Parameters
    ----------
    seconds
        Wall-clock limit per page.
    boilerplate
        Titles of sections to leave out.
    templates
        Name of a template to the parameter that it reads as, beyond the list in `wikitemplates`.
    """

    def __init__(self, seconds: float, boilerplate: Sequence[str], templates: Mapping[str, str]) -> None:
        self._seconds = seconds
        self._settings = {"boilerplate": list(boilerplate), "templates": dict(templates)}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> NormaliserProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def normalise(self, wikitext: str) -> Page:
        """Return the normalised page.

        Raises
        ------
        NormaliseError
            With code ``time_limit``, ``crashed``, ``parser`` or ``headings``.
        """
        process = self._process or self._launch()
        answer = self._ask(process, {"wikitext": wikitext}, self._seconds)
        if "error" in answer:
            raise NormaliseError(answer["error"])
        return _page(answer)

    def _launch(self) -> subprocess.Popen[bytes]:
        library = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(part for part in (library, os.environ.get("PYTHONPATH", "")) if part)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        # imports are not the page's time
        self._ask(self._process, self._settings, 300.0)
        return self._process

    def _ask(self, process: subprocess.Popen[bytes], question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        assert process.stdin is not None  # noqa: S101 - for the type checker; both are pipes
        assert process.stdout is not None  # noqa: S101
        deadline = time.monotonic() + seconds
        received = bytearray()
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                while not received.endswith(b"\n"):
                    if not selector.select(max(0.0, deadline - time.monotonic())):
                        self._stop()
                        raise NormaliseError(f"time_limit: not normalised within {seconds:g} s")
                    piece = os.read(process.stdout.fileno(), _READ)
                    if not piece:
                        raise BrokenPipeError
                    received += piece
        except BrokenPipeError:
            code = process.wait()
            self._stop()
            raise NormaliseError(f"crashed: the normaliser's process ended with status {code}") from None
        answer: dict[str, Any] = json.loads(received)
        return answer

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()


def serve() -> None:
    """Answer pages on standard input until it ends; what runs in the process."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    lines = iter(sys.stdin.buffer)
    settings = json.loads(next(lines))
    boilerplate = frozenset(settings["boilerplate"])
    extra = {
        fold(name): keep(*(part.strip() for part in str(of).split(","))) for name, of in settings["templates"].items()
    }
    answers.write(b"{}\n")
    answers.flush()
    for line in lines:
        try:
            answer = _plain(normalise(json.loads(line)["wikitext"], boilerplate, extra))
        except NormaliseError as error:
            answer = {"error": str(error)}
        except Exception as error:
            answer = {"error": f"parser: {type(error).__name__}: {error}"}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _plain(page: Page) -> dict[str, Any]:
    return {
        "blocks": [
            [block.rank, block.title] if isinstance(block, Heading) else [0, block.text] for block in page.blocks
        ],
        "categories": page.categories,
        "unseen": page.unseen,
        "characters": dict(page.characters),
        "dropped": dict(page.dropped),
    }


def _page(plain: Mapping[str, Any]) -> Page:
    blocks: list[Block] = [Heading(rank, text) if rank else Paragraph(text) for rank, text in plain["blocks"]]
    return Page(
        tuple(blocks), tuple(plain["categories"]), tuple(plain["unseen"]), plain["characters"], plain["dropped"]
    )
