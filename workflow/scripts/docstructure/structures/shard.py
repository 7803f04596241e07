"""One shard of a model's answers for the structure stage: it fills the cache and gives no structure.

Shards run as separate jobs, on several GPUs at once. What is then built comes from the cache alone, over all documents
at once, so that no artifact depends on how many shards there were.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.structures import STATUSES
from docstructure.contracts.structures import STRUCTURES as STRUCTURES_CONTRACT
from docstructure.structures import STRUCTURES
from docstructure.structures.outcome import Outcome
from docstructure.structures.stage import asks_model, flatten, structures_frame


def complete_structure_shard(
    *,
    definition: Mapping[str, Any],
    corpus: str,
    structure: str,
    documents: str,
    models: Mapping[str, Any],
    cache: str,
    shard: int,
    shards: int,
    completed: str,
    offline: bool = False,
    language: str = "en",
) -> None:
    """Ask a model for the structure of the documents whose index modulo `shards` is `shard`.

    Parameters
    ----------
    definition
        ``{kind: {options}}`` of a kind that asks a model.
    corpus, structure
        Their names in the config, for messages.
    documents
        Parquet file to read.
    models
        ``definitions.models``.
    cache
        Folder of the model's cache: the real output.
    shard, shards
        Which of how many.
    completed
        Parquet file to write: how the shard's documents came through, as `docstructure.contracts.structures` has it.
        Whether too many failed is decided over all shards, where the structure is built.
    offline
        Whether no engine may be started.
    language
        Two-letter code of the corpus.

    Raises
    ------
    ValueError
        If the kind asks no model, or there is no such shard.
    """
    options, induce = STRUCTURES.resolve(definition)
    if not asks_model(options):
        raise ValueError(f"structure {structure} asks no language model: it has no shards")
    if not 0 <= shard < shards:
        raise ValueError(f"shard {shard} of {shards}: shards are counted from 0")
    flat = flatten(DOCUMENTS.read(documents))[shard::shards]
    llm = {"models": models, "cache": cache, "offline": offline}
    outcomes: list[Outcome] = list(induce(options, flat, None, language, llm=llm))
    counts = Counter(outcome.status for outcome in outcomes)
    print(
        f"corpus {corpus}, structure {structure}, shard {shard} of {shards}: {len(outcomes)} documents: "
        + ", ".join(f"{counts[status]} {status}" for status in STATUSES),
        file=sys.stderr,
    )
    STRUCTURES_CONTRACT.write(structures_frame(outcomes), completed)
