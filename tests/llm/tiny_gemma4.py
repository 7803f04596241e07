"""A Gemma-4 mixture of experts small enough for a CPU: the real architecture, without weights (load_format: dummy)."""

import shutil
from pathlib import Path

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def write(folder: Path, tokenizer: Path) -> None:
    """Write config and tokenizer of the tiny model."""
    from transformers import AutoTokenizer
    from transformers.models.gemma4 import Gemma4TextConfig

    loaded = AutoTokenizer.from_pretrained(tokenizer)
    Gemma4TextConfig(
        architectures=["Gemma4ForCausalLM"],
        vocab_size=len(loaded),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        layer_types=["sliding_attention", "full_attention"],
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        global_head_dim=32,
        num_global_key_value_heads=1,
        hidden_size_per_layer_input=0,
        vocab_size_per_layer_input=len(loaded),
        sliding_window=512,
        max_position_embeddings=8192,
        enable_moe_block=True,
        num_experts=8,
        top_k_experts=2,
        moe_intermediate_size=32,
        bos_token_id=loaded.bos_token_id,
        eos_token_id=loaded.eos_token_id,
        pad_token_id=loaded.pad_token_id,
        dtype="float32",
    ).save_pretrained(folder)
    for name in TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copy(tokenizer / name, folder / name)
