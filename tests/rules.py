"""The rules as their files say them: which script a rule runs, in which environment, with which kinds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^rule (\w+):\n((?:[ \t].*\n|\n)+)", re.MULTILINE)
ENV = re.compile(r'conda:\s*"\.\./envs/([\w-]+)\.yaml"')
SCRIPT = re.compile(r'script:\s*"\.\./workflow/scripts/(\w+\.py)"')
CODE = re.compile(r'(\w*)code\(\s*(?:"([\w-]+)",\s*)?"(\w+\.py)"\s*(?:,\s*([A-Z_]+))?')
# What `shard_code` adds to the kind that it is given: the engines of language models.
ALSO = {"shard_": ("ENGINES",)}


@dataclass(frozen=True)
class Rule:
    """One rule with a script.

    Parameters
    ----------
    name, env, script
        Its name, the stem of its file in envs/ and its file in workflow/scripts/.
    registries
        Names of the registries whose kinds it resolves at run time.
    """

    name: str
    env: str
    script: str
    registries: tuple[str, ...]


def rules() -> dict[str, Rule]:
    """Return every rule that runs a script, by name."""
    found = {}
    for file in (ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))):
        for name, body in BLOCK.findall(file.read_text(encoding="utf-8")):
            script, env, code = SCRIPT.search(body), ENV.search(body), CODE.search(body)
            if script is None:
                continue
            assert env is not None, f"rule {name} names no environment"
            assert code is not None, f"rule {name} carries no fingerprint"
            helper, pins, of, registry = code.groups()
            assert pins in (None, env[1]), f"rule {name} runs in {env[1]} and carries the pins of {pins}"
            assert of == script[1], f"rule {name} runs {script[1]} and carries the fingerprint of {of}"
            resolved = (registry,) if registry else ()
            found[name] = Rule(name, env[1], script[1], resolved + ALSO.get(helper, ()))
    return found
