"""Hand all answers of a cache to another user as one file, who can then build every corpus without a model.

    PYTHONPATH=workflow/scripts .venv/bin/python -m docstructure.llm.share export cache/llm answers.parquet
    PYTHONPATH=workflow/scripts .venv/bin/python -m docstructure.llm.share import answers.parquet cache/llm

With ``llm: {offline: true}`` in the config no engine is started then, and no model needs to be at hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from docstructure.contracts.contract import ContractError
from docstructure.llm.cache import export_cache, import_cache


def main(arguments: Sequence[str] | None = None) -> str:
    """Export or import, and return what was done in one line.

    Raises
    ------
    SystemExit
        If there is no such cache or file, the cache is empty, or the file is none of `export_cache`'s.
    """
    parser = argparse.ArgumentParser(prog="docstructure.llm.share", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, source, target in (("export", "cache", "file"), ("import", "file", "cache")):
        command = verbs.add_parser(verb)
        command.add_argument("source", metavar=source)
        command.add_argument("target", metavar=target)
    asked = parser.parse_args(arguments)
    if not Path(asked.source).exists():
        raise SystemExit(f"{asked.source}: there is no such {'cache' if asked.verb == 'export' else 'file'}")
    if asked.verb == "export":
        n_answers = export_cache(asked.source, asked.target)
        if not n_answers:
            Path(asked.target).unlink()
            raise SystemExit(f"{asked.source}: holds no answer; llm.cache in the config names the folder")
        return f"{asked.target}: {n_answers} answers of {asked.source}"
    try:
        n_new = import_cache(asked.source, asked.target)
    except ContractError as error:
        raise SystemExit(str(error)) from None
    return f"{asked.target}: {n_new} answers added from {asked.source}"


if __name__ == "__main__":
    print(main(), file=sys.stderr)
