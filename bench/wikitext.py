"""Pages per second of the wikitext normaliser beside mwparserfromhell's bare parse on the same pages.

    python bench/wikitext.py [FOLDER of .wikitext files]

The goal is at most 1.5 times the time of the bare parse. Rounds alternate and medians are compared.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

import mwparserfromhell  # noqa: E402

from docstructure.corpora.wikitext import normalise  # noqa: E402

GOAL = 1.5
ROUNDS = 5


def seconds(function: Callable[[str], object], pages: Sequence[str]) -> float:
    """Return the time that a function takes over all pages."""
    begin = time.perf_counter()
    for page in pages:
        function(page)
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print a table line."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data" / "wikitext"
    pages = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.wikitext"))]
    if not pages:
        print(f"| wikitext: skipped, no .wikitext file in {folder} |")
        return
    ours, peer = [], []
    for _ in range(ROUNDS):
        peer.append(seconds(mwparserfromhell.parse, pages))
        ours.append(seconds(normalise, pages))
    mine, theirs = statistics.median(ours), statistics.median(peer)
    name = f"wikitext, {len(pages)} pages vs mwparserfromhell.parse"
    rates = f"{len(pages) / mine:.1f} pages/s | {len(pages) / theirs:.1f} pages/s"
    print(f"| {name} | {rates} | {mine / theirs:.2f}x its time | <= {GOAL}x |")


if __name__ == "__main__":
    main()
