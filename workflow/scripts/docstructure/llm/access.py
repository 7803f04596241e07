"""Whether a language model can be had at all: looked into before any job starts. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


class AccessError(ValueError):
    """A model cannot be had; the message says which and what to set."""


def check_access(name: str, definition: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> None:
    """Check that a model of ``definitions.models`` can be had with what the environment holds.

    A hub model must be in the local cache, or be allowed to be downloaded, with a token where it is gated; a server
    that wants a key must have one. Nothing is asked of any network, and no secret is ever part of a message.

    Parameters
    ----------
    name
        Name in ``definitions.models``.
    definition
        ``{engine: {options}}``.
    environment
        Variables; ``os.environ`` when None.

    Raises
    ------
    AccessError
        If it cannot be had.
    """
    values = os.environ if environment is None else environment
    for engine, given in definition.items():
        options = given or {}
        key = options.get("api_key_env", "")
        if key and not values.get(key, "").strip():
            raise AccessError(
                f"model {name}: its server wants a key, and the environment variable {key} "
                f"(definitions.models.{name}.{engine}.api_key_env) is not set"
            )
        spec = options.get("model")
        if isinstance(spec, Mapping) and "hub" in spec:
            _check_hub(name, f"definitions.models.{name}.{engine}", spec, bool(options.get("gated")), values)


def _check_hub(name: str, where: str, spec: Mapping[str, str], gated: bool, values: Mapping[str, str]) -> None:
    hub, revision = spec["hub"], spec.get("revision", "")
    if not revision:
        raise AccessError(f"model {name}: {where}.model.revision is missing: state the commit of {hub}")
    if (hub_cache(values) / f"models--{hub.replace('/', '--')}" / "snapshots" / revision).is_dir():
        return
    if values.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}:
        raise AccessError(
            f"model {name}: {hub} at revision {revision} is not in the local cache {hub_cache(values)}, and "
            "HF_HUB_OFFLINE forbids to download it: download it first, or set HF_HOME to where it is"
        )
    if gated and not has_token(values):
        raise AccessError(
            f"model {name}: {hub} is gated and not in the local cache {hub_cache(values)}: accept its terms on the "
            "hub and set HF_TOKEN in the environment (never in the config), or set HF_HOME to where it is"
        )


def hub_cache(values: Mapping[str, str]) -> Path:
    """Return the folder of the hub's local cache."""
    if values.get("HF_HUB_CACHE"):
        return Path(values["HF_HUB_CACHE"]).expanduser()
    return _hub_home(values) / "hub"


def has_token(values: Mapping[str, str]) -> bool:
    """Return whether a hub token is set, or was stored by a log-in."""
    if any(values.get(variable, "").strip() for variable in TOKEN_VARIABLES):
        return True
    stored = Path(values.get("HF_TOKEN_PATH") or _hub_home(values) / "token").expanduser()
    return stored.is_file() and stored.stat().st_size > 0


def _hub_home(values: Mapping[str, str]) -> Path:
    if values.get("HF_HOME"):
        return Path(values["HF_HOME"]).expanduser()
    base = values.get("XDG_CACHE_HOME") or str(Path(values.get("HOME", "~")) / ".cache")
    return Path(base).expanduser() / "huggingface"
