"""Models made on the spot with random weights: the architectures of bge and its reranker, without their training."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "st")]
SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}


def sentence(n_words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=n_words))


def sentences(n: int, longest: int, seed: int = 0) -> list[str]:
    lengths = random.Random(seed)
    return [sentence(lengths.randint(1, longest), seed * 1000 + i) for i in range(n)]


def save_tokenizer(folder: Path, segments: bool) -> int:
    """Save a tokenizer of one token a word; `segments` marks the second text of a pair, as BERT's does."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    # as in XLM-R, the padding id is 1: its positions start behind it
    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *WORDS])}
    fast = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    pair = "<s> $A </s> $B:1 </s>:1" if segments else "<s> $A </s> </s> $B </s>"
    fast.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair=pair, special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * segments
    PreTrainedTokenizerFast(tokenizer_object=fast, model_input_names=inputs, **SPECIAL).save_pretrained(folder)
    return len(vocabulary)


def save_embedder(
    folder: Path, *, hidden: int = 32, layers: int = 2, heads: int = 2, pooling: str = "cls", dense: bool = False
):
    """Save a BERT as a sentence-transformers folder, laid out as bge's are."""
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True)
    vocabulary = save_tokenizer(folder, segments=True)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * hidden, max_position_embeddings=512, initializer_range=0.1, pad_token_id=1,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    kinds = ["Transformer", "Pooling", "Normalize"] + ["Dense"] * dense
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(
            {
                "word_embedding_dimension": hidden,
                "pooling_mode_cls_token": pooling == "cls",
                "pooling_mode_mean_tokens": pooling == "mean",
                "pooling_mode_max_tokens": False,
                "pooling_mode_mean_sqrt_len_tokens": False,
            }
        )
    )
    return folder


def save_cross_encoder(folder: Path, labels: int = 1, family: str = "xlm-roberta") -> Path:
    """Save a sequence classifier: XLM-RoBERTa as bge-reranker-v2-m3 is, or BERT with its segment ids."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    folder.mkdir(parents=True)
    vocabulary = save_tokenizer(folder, segments=family == "bert")
    torch.manual_seed(1)
    config = AutoConfig.for_model(
        family, vocab_size=vocabulary, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=258, initializer_range=0.2, pad_token_id=1, num_labels=labels,
        type_vocab_size=2 if family == "bert" else 1,
    )  # fmt: skip
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    return folder
