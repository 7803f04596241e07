"""Kinds: a name in the config that selects one module, its options and its function.

Every choice in the config that has more than one implementation (a builder, a structure, a prefix, a reranker ...) is
written ``{kind: {option: value}}``. A `Registry` maps the kind to the module that implements it and imports that module
only when the kind is used, so that an edit of one kind changes the fingerprint of no other.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PACKAGE = __package__


class KindError(ValueError):
    """A definition names no kind, an unknown kind, or an option that its kind does not have."""


@dataclass(frozen=True)
class Registry:
    """The kinds of one noun.

    Parameters
    ----------
    noun
        What is chosen, as users call it: ``builder``, ``structure``, ``prefix`` ...
    function
        Name of the function that each kind's module provides.
    modules
        Kind to module, dotted and relative to this package. The module holds a frozen dataclass ``Options``
        and the function named by `function`.
    """

    noun: str
    function: str
    modules: Mapping[str, str]

    def kind(self, definition: Mapping[str, Any]) -> str:
        """Return the kind that a definition names (its one key that is a known kind)."""
        named = [key for key in definition if key in self.modules]
        if len(named) != 1:
            raise KindError(
                f"a {self.noun} is written {{kind: {{options}}}} with one kind of {', '.join(self.modules)}; "
                f"found {sorted(definition)}"
            )
        return named[0]

    def module(self, kind: str) -> str:
        """Return the full dotted name of the module of a kind, without importing it."""
        return f"{PACKAGE}.{self.modules[kind]}"

    def resolve(self, definition: Mapping[str, Any]) -> tuple[Any, Callable[..., Any]]:
        """Return the options and the function of the kind that `definition` names.

        Raises
        ------
        KindError
            If the kind is unknown, or an option is unknown or missing.
        """
        kind = self.kind(definition)
        module = importlib.import_module(self.module(kind))
        given = dict(definition[kind] or {})
        fields = {field.name: field for field in dataclasses.fields(module.Options)}
        unknown = sorted(set(given) - set(fields))
        if unknown:
            raise KindError(
                f"{self.noun} {kind}: unknown option {', '.join(unknown)}; it has {', '.join(fields) or 'none'}"
            )
        missing = [
            name
            for name, field in fields.items()
            if name not in given
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        if missing:
            raise KindError(f"{self.noun} {kind}: option {', '.join(missing)} is missing")
        return module.Options(**given), getattr(module, self.function)
