"""No orphans: a process of its own that ends the children of a job which was killed outright.

vLLM's engine runs in child processes. A job that is killed with SIGKILL cannot end them, and on a GPU they would keep
its memory for ever. The guard remembers the job's descendants while it lives; when the pipe to the job breaks, it ends
those that are left. Standard library only, for it is run as a file; it needs Linux's /proc.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROC = Path("/proc")
LOOK_S = 1.0
GRACE_S = 3.0

Process = tuple[int, str]
"""Process id and start time: an id is used again, both together are not."""


@contextmanager
def no_orphans() -> Iterator[None]:
    """Guard the descendants of this process while the context lasts."""
    if not PROC.is_dir():
        yield
        return
    guard = subprocess.Popen(
        [sys.executable, __file__, str(os.getpid())], stdin=subprocess.PIPE, start_new_session=True, bufsize=0
    )
    try:
        yield
    finally:
        guard.communicate(b"done")


def descendants(root: int) -> set[Process]:
    """Return the processes that stem from `root`, itself not among them."""
    parents = {}
    started = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            started[int(folder.name)] = fields[19]
    found: set[int] = set()
    newer = {root}
    while newer:
        newer = {pid for pid, parent in parents.items() if parent in newer} - found
        found |= newer
    return {(pid, started[pid]) for pid in found}


def watch(job: int) -> None:
    """Remember the job's descendants until the pipe on standard input says something or breaks."""
    known: set[Process] = set()
    job_started = start_of(job)
    while job_started is not None:
        found = {process for process in descendants(job) if process[0] != os.getpid()}
        # asked after the look: when the job has died, its id may by then be another's, with other children
        if is_alive(job, job_started):
            known |= found
        if select.select([sys.stdin], [], [], LOOK_S)[0]:
            break
    if not os.read(sys.stdin.fileno(), 4):
        _end(known)


def _end(processes: set[Process]) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid, started in processes:
            if is_alive(pid, started):
                os.kill(pid, signum)
        time.sleep(GRACE_S if signum == signal.SIGTERM else 0)


def start_of(pid: int) -> str | None:
    """Return when a process was started, in clock ticks since boot; None when there is none."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def is_alive(pid: int, started: str) -> bool:
    """Return whether this process, and not a later one with its id, is there."""
    return start_of(pid) == started


if __name__ == "__main__":
    watch(int(sys.argv[1]))
