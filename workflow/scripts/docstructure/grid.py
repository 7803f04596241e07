"""Which cells a config asks for, and what each of them is made of.

Standard library only: the Snakefile imports it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Settings that every cell depends on (threads and store do not change a result).
SETTINGS = ("language", "chunking", "prefix", "top_k", "metrics")


@dataclass(frozen=True)
class Cell:
    """The unit of rerun: one condition of one corpus under one embedder and one reranker."""

    corpus: str
    condition: str
    embedder: str
    reranker: str

    @property
    def folder(self) -> str:
        """Its folder below ``cells/``."""
        return f"{self.condition}/{self.embedder}/{self.reranker}"


def plain(value: Any) -> Any:  # noqa: ANN401 (any YAML value)
    """Return a config value as plain builtins with sorted keys, so that its repr says what it is and nothing else."""
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


class Grid:
    """The grid of a config that `docstructure.config.check` has passed."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.definitions = config["definitions"]

    def definition(self, noun: str, name: str) -> Any:  # noqa: ANN401 (any definition)
        """Return one definition as plain builtins."""
        return plain(self.definitions[noun][name])

    def structure(self, boundaries: str) -> str:
        """Return the structure that boundaries come from: their own, or that of the chunks they are matched to."""
        entry = self.definitions["boundaries"][boundaries]
        if "sections" in entry:
            return str(entry["sections"]["structure"])
        return self.structure(entry["windows"]["match"])

    def view(self, condition: str) -> str:
        """Return the view of a condition: ``{boundaries}.{prefix}``."""
        entry = self.definitions["conditions"][condition]
        return f"{entry['boundaries']}.{entry['prefix']}"

    def boundaries(self, condition: str) -> str:
        """Return the boundaries of a condition."""
        return str(self.definitions["conditions"][condition]["boundaries"])

    def routed_section(self, condition: str) -> str | None:
        """Return what a two-stage condition routes to, ``top_level`` or ``section``; None when it is flat."""
        retrieval = self.definitions["retrieval"][self.definitions["conditions"][condition]["retrieval"]]
        return str(retrieval["two_stage"].get("section", "top_level")) if "two_stage" in retrieval else None

    def routed_cells(self, corpus: str) -> list[Cell]:
        """Return the two-stage cells of a corpus, before reranking."""
        return [
            cell
            for cell in self.cells(corpus)
            if cell.reranker == "none" and self.routed_section(cell.condition) is not None
        ]

    def gold(self, corpus: str) -> str | None:
        """Return the boundaries of the author's own structure that a corpus uses; None where it uses none."""
        for boundaries in self.chunk_sets(corpus):
            entry = self.definitions["boundaries"][boundaries]
            if "sections" in entry and "native" in self.definitions["structures"][entry["sections"]["structure"]]:
                return boundaries
        return None

    def unavailable(self, corpus: str) -> dict[str, str]:
        """Return the conditions asked for that a corpus cannot have, each with the reason."""
        declared = self.definitions["corpora"][corpus]["structures"]
        return {
            condition: f"corpus {corpus} declares no structure {structure}"
            for condition in self.config["conditions"]
            if (structure := self.structure(self.boundaries(condition))) not in declared
        }

    def conditions(self, corpus: str) -> list[str]:
        """Return the conditions of a corpus, in the order in which they were asked for."""
        unavailable = self.unavailable(corpus)
        return [condition for condition in self.config["conditions"] if condition not in unavailable]

    def rerankers(self, condition: str, embedder: str) -> list[str]:
        """Return the rerankers that run on a condition's rankings by an embedder."""
        defined = self.definitions["rerankers"]
        return [
            reranker
            for reranker in self.config["rerankers"]
            if embedder in defined[reranker].get("embedders", [embedder])
            and condition in defined[reranker].get("conditions", [condition])
        ]

    def cells(self, corpus: str) -> list[Cell]:
        """Return the cells of a corpus."""
        return [
            Cell(corpus, condition, embedder, reranker)
            for condition in self.conditions(corpus)
            for embedder in self.config["embedders"]
            for reranker in self.rerankers(condition, embedder)
        ]

    def chunk_sets(self, corpus: str) -> list[str]:
        """Return the boundaries in use, those that windows are matched to included."""
        used = [self.boundaries(condition) for condition in self.conditions(corpus)]
        used += [
            entry["windows"]["match"] for name in used if "windows" in (entry := self.definitions["boundaries"][name])
        ]
        return list(dict.fromkeys(used))

    def views(self, corpus: str) -> list[str]:
        """Return the views in use."""
        return list(dict.fromkeys(self.view(condition) for condition in self.conditions(corpus)))

    def structures(self, corpus: str) -> list[str]:
        """Return the structures in use: those of the chunk sets and those that eligibility asks for."""
        used = [self.structure(boundaries) for boundaries in self.chunk_sets(corpus)]
        used += self.definitions["corpora"][corpus]["eligibility"]["structures"]
        return list(dict.fromkeys(used))

    def models(self, corpus: str) -> list[str]:
        """Return the language models that structures, contexts and generated queries of a corpus ask."""
        entries = [self.definitions["structures"][name] for name in self.structures(corpus)]
        for view in self.views(corpus):
            prefix = self.definitions["prefixes"][view.split(".")[1]]
            if "context" in prefix:
                entries.append(self.definitions["contextualizers"][prefix["context"]["contextualizer"]])
        queries = self.definitions["corpora"][corpus]["queries"]
        entries += [] if isinstance(queries, str) else [queries]
        asked = [entry[kind]["model"] for entry in entries for kind in ("llm", "generated") if kind in entry]
        return list(dict.fromkeys(asked))

    def provenance(self, cell: Cell) -> dict[str, Any]:
        """Return every definition and setting that a cell is made of, as plain builtins."""
        condition = self.definition("conditions", cell.condition)
        boundaries = self.definition("boundaries", condition["boundaries"])
        prefix = self.definition("prefixes", condition["prefix"])
        chain = {
            "boundaries": boundaries,
            "prefix": prefix,
            "retrieval": self.definition("retrieval", condition["retrieval"]),
            "structure": self.definition("structures", self.structure(condition["boundaries"])),
            "tokenizer": self.definition("tokenizers", self.config["tokenizer"]),
            "corpus": self.definition("corpora", cell.corpus),
            "embedder": self.definition("embedders", cell.embedder),
            "reranker": self.definition("rerankers", cell.reranker),
        }
        if "windows" in boundaries:
            chain["matched"] = self.definition("boundaries", boundaries["windows"]["match"])
        if "context" in prefix:
            chain["contextualizer"] = self.definition("contextualizers", prefix["context"]["contextualizer"])
        settings = {key: plain(self.config[key]) for key in SETTINGS}
        return {"cell": dataclasses.asdict(cell), "condition": condition, "definitions": chain, "settings": settings}

    def depth(self, condition: str) -> int | None:
        """Return the levels of a condition's paths, 0 without a prefix; None where its prefix is no path."""
        name = self.definitions["conditions"][condition]["prefix"]
        ((kind, options),) = self.definitions["prefixes"][name].items()
        return 0 if kind == "none" else options.get("depth")

    def contrasts(self) -> list[str]:
        """Return the contrasts that are computed: the pre-registered ones, then the exploratory ones."""
        return [*self.config["preregistration"]["contrasts"], *self.config["exploratory_contrasts"]]

    def missing(self, corpus: str) -> dict[str, str]:
        """Return every condition that a contrast or ladder names and this corpus does not run, each with the reason."""
        unavailable = self.unavailable(corpus)
        named = [name for contrast in self.contrasts() for name in self.definitions["contrasts"][contrast]]
        named += [name for ladder in self.config["exploration"]["ladders"].values() for name in ladder]
        return {
            condition: unavailable.get(condition, f"condition {condition} was not asked for")
            for condition in named
            if condition in unavailable or condition not in self.config["conditions"]
        }

    def messages(self) -> list[str]:
        """Return what a user should know about the grid: conditions that a corpus cannot have."""
        return [
            f"{condition} is left out: {reason}"
            for corpus in self.config["corpora"]
            for condition, reason in self.unavailable(corpus).items()
        ]
