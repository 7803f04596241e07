"""Model folders as engines load them, GGUF files included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from docstructure.llm.engines.engine import EngineError
from docstructure.models import locate


def gguf_file(folder: Path) -> str | None:
    """Return the name of a folder's one GGUF file where it is all that the folder has of a model.

    Raises
    ------
    EngineError
        If there are several.
    """
    if (folder / "config.json").is_file():
        return None
    files = sorted(path.name for path in folder.glob("*.gguf"))
    if len(files) > 1:
        raise EngineError(f"{folder} holds {len(files)} GGUF files; a model is one: {', '.join(files)}")
    return files[0] if files else None


def folder_of(spec: Mapping[str, str]) -> Path:
    """Return the folder of a model's weights in the usual format.

    Raises
    ------
    EngineError
        If it holds a GGUF file only.
    """
    folder = locate(spec).folder
    name = gguf_file(folder)
    if name is not None:
        raise EngineError(
            f"{folder / name} is a GGUF file, which this engine does not read: "
            "docstructure.llm.engines.weights.unpack writes it as a folder of safetensors"
        )
    return folder


def unpack(spec: Mapping[str, str], target: str) -> None:
    """Write a model that comes as one GGUF file as a usual folder: config, safetensors, tokenizer, chat template.

    Parameters
    ----------
    spec
        As `docstructure.models.locate` takes it.
    target
        Folder to write; what it holds already is replaced.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    folder = locate(spec).folder
    name = gguf_file(folder)
    if name is None:
        raise EngineError(f"{folder} holds no GGUF file")
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, quantization_config=GgufConfig(dequantize=True), dtype="float32"
    )
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(target)
