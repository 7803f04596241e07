"""Run one stage as a job: what it says goes to its log and to the terminal; an error says what to do, once."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


class _Tee(io.TextIOBase):
    """A text stream that writes to two."""

    def __init__(self, *streams: TextIO) -> None:
        self._streams = streams

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
            stream.flush()
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


def run(stage: Callable[..., object], *, log: str, **keywords: Any) -> None:  # noqa: ANN401 (each stage has its own)
    """Call a stage with its keywords.

    Standard output, error and log records are copied to `log`. An exception ends the job with exit code 1: its message
    goes to the terminal, the traceback to the log.

    Parameters
    ----------
    stage
        A stage function of the library.
    log
        Path of the job's log file.
    keywords
        What the stage takes.
    """
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with path.open("w", encoding="utf-8") as file:
        tee = _Tee(sys.stderr, file)
        with contextlib.redirect_stdout(tee), contextlib.redirect_stderr(tee):
            logging.basicConfig(stream=tee, level=logging.INFO, format="%(message)s", force=True)
            try:
                stage(**keywords)
            except Exception as error:
                traceback.print_exc(file=file)
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                raise SystemExit(1) from None
            print(f"done in {time.monotonic() - started:.1f} s", file=file)
