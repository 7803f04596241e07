"""The grid: which cells a config asks for, and what they are made of."""

import pytest

from docstructure.grid import Cell, Grid, plain
from tests.unit.test_config import load, merge


@pytest.fixture
def paper():
    return load("config/config.yaml")


def test_the_papers_grid_has_66_cells(paper):
    grid = Grid(paper)
    cells = [cell for corpus in paper["corpora"] for cell in grid.cells(corpus)]
    # 11 conditions x (2 embedders without reranker + the strong one with it) x 2 corpora
    assert len(cells) == len(set(cells)) == 66
    assert not any(cell.embedder == "bge-small-en-v1.5" and cell.reranker != "none" for cell in cells)


def test_a_reranker_runs_on_the_conditions_it_names(paper):
    some = {"definitions": {"rerankers": {"bge-reranker-v2-m3": {"conditions": ["A3", "P"]}}}}
    cells = Grid(merge(paper, some)).cells("qasper")
    assert {cell.condition for cell in cells if cell.reranker != "none"} == {"A3", "P"}
    assert len({cell.condition for cell in cells}) == 11


def test_a3_and_a4_share_one_view(paper):
    grid = Grid(paper)
    assert grid.view("A3") == grid.view("A4") == "induced.path3"
    assert len(grid.views("qasper")) == 9
    assert grid.chunk_sets("qasper") == ["fixed", "induced", "gold"]


def test_language_models_are_those_that_the_conditions_ask(paper):
    assert Grid(paper).models("qasper") == ["gemma-4-26b-a4b"]
    demo = merge(paper, load("config/demo.yaml"))
    assert Grid(demo).models("demo") == []
    generated = {"definitions": {"corpora": {"demo": {"queries": {"generated": {"model": "gemma-4-26b-a4b"}}}}}}
    assert Grid(merge(demo, generated)).models("demo") == ["gemma-4-26b-a4b"]


def test_windows_need_the_structure_of_what_they_match(paper):
    assert Grid(paper).structure("fixed") == "gemma"


def test_a_corpus_without_gold_has_no_g_conditions(paper):
    config = merge(paper, {"definitions": {"corpora": {"qasper": {"structures": ["gemma"]}}}})
    grid = Grid(config)
    assert set(grid.unavailable("qasper")) == {"G2", "G3", "G4"}
    assert "G3" not in grid.conditions("qasper")
    assert grid.missing("qasper") == {"G3": "corpus qasper declares no structure gold"}
    assert any("G3 is left out: corpus qasper" in message for message in grid.messages())
    assert grid.unavailable("wikipedia_fa") == {}


def test_a_condition_that_was_not_asked_for_is_missing_from_its_contrasts(paper):
    grid = Grid(merge(paper, {"conditions": ["A3", "A1"]}))
    assert grid.missing("qasper") == {
        name: f"condition {name} was not asked for"
        for name in ("P", "G3", "A4", "A2", "A0", "A3-d1", "A3-d2")  # of contrasts, and of the depth ladder
    }


def test_windows_bring_the_chunks_that_they_are_matched_to(paper):
    assert Grid(merge(paper, {"conditions": ["A0"]})).chunk_sets("qasper") == ["fixed", "induced"]


def test_routed_cells_are_the_two_stage_ones_before_reranking(paper):
    cells = Grid(paper).routed_cells("qasper")
    assert {(cell.condition, cell.reranker) for cell in cells} == {("A4", "none"), ("G4", "none")}
    assert len(cells) == 4
    assert Grid(paper).gold("qasper") == "gold"
    assert Grid(merge(paper, {"conditions": ["A2"]})).gold("qasper") is None


def test_provenance_names_everything_that_a_cell_is_made_of_and_nothing_else(paper):
    grid = Grid(paper)
    made_of = grid.provenance(Cell("qasper", "A1", "bge-large-en-v1.5", "none"))
    assert set(made_of["definitions"]) == {
        "boundaries",
        "matched",
        "prefix",
        "contextualizer",
        "retrieval",
        "structure",
        "tokenizer",
        "corpus",
        "embedder",
        "reranker",
    }
    assert made_of["settings"]["chunking"]["t_max"] == 350
    other = merge(paper, {"definitions": {"prefixes": {"path2": {"path": {"depth": 1}}}}, "threads": {"embed": 1}})
    assert Grid(other).provenance(Cell("qasper", "A1", "bge-large-en-v1.5", "none")) == made_of


def test_plain_sorts_keys_so_that_their_order_in_a_file_changes_nothing():
    assert repr(plain({"b": [{"d": 1, "c": 2}], "a": ()})) == "{'a': [], 'b': [{'c': 2, 'd': 1}]}"
