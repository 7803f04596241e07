"""The Docling builder: DoclingDocument JSON in reading order, with questions, and one clear error for bad input."""

from __future__ import annotations

import copy
import json

import polars as pl
import pytest

from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.docling import Options, build
from docstructure.corpora.stage import build_corpus


def ref(kind, index):
    return {"$ref": f"#/{kind}/{index}"}


def text(index, label, words, parent="#/body", children=(), **more):
    return {
        "self_ref": f"#/texts/{index}",
        "parent": {"$ref": parent},
        "children": list(children),
        "content_layer": "body",
        "label": label,
        "prov": [],
        "orig": words,
        "text": words,
        **more,
    }


def group(index, label, children, parent="#/body"):
    return {
        "self_ref": f"#/groups/{index}",
        "parent": {"$ref": parent},
        "children": list(children),
        "content_layer": "body",
        "name": "group",
        "label": label,
    }


def cell(words, row, column, rows=1, columns=1, **more):
    return {
        "text": words,
        "row_span": rows,
        "col_span": columns,
        "start_row_offset_idx": row,
        "end_row_offset_idx": row + rows,
        "start_col_offset_idx": column,
        "end_col_offset_idx": column + columns,
        "column_header": row == 0,
        "row_header": False,
        "row_section": False,
        **more,
    }


def document():
    """A small document of every kind of item, valid by docling-core's own model."""
    texts = [
        text(0, "page_header", "Journal of Kettles", content_layer="furniture"),
        text(1, "title", "On Kettles"),
        text(2, "text", "A kettle boils water."),
        text(3, "section_header", "Methods", level=1),
        text(4, "section_header", "Heating", level=2),
        text(5, "text", "We heat it.\nTwice."),
        text(6, "list_item", "Fill it.", "#/groups/0", [ref("groups", 1)], enumerated=True, marker="1."),
        text(7, "list_item", "With water.", "#/groups/1", enumerated=False, marker="-"),
        text(8, "list_item", "", "#/groups/0", [ref("groups", 2)], enumerated=True, marker="2."),
        text(9, "text", "Switch", "#/groups/2"),
        text(10, "text", "it on.", "#/groups/2", formatting={"bold": True}),
        text(11, "caption", "Table 1: Times"),
        text(12, "section_header", "Results", level=1),
        text(13, "code", "# not a heading\nboil()", captions=[], references=[], footnotes=[], code_language="Python"),
        text(14, "formula", "", orig="t = 4"),
        text(15, "caption", "Figure 1: A kettle", "#/pictures/0"),
        text(16, "text", "steam", "#/pictures/0"),
        text(17, "page_footer", "3"),
        text(18, "footnote", "Tap water."),
        text(19, "text", "  "),
        text(20, "text", "A reviewer's note.", content_layer="notes"),
    ]
    table = {
        "self_ref": "#/tables/0",
        "parent": {"$ref": "#/body"},
        "children": [],
        "content_layer": "body",
        "label": "table",
        "prov": [],
        "captions": [ref("texts", 11)],
        "references": [],
        "footnotes": [],
        "data": {
            "num_rows": 3,
            "num_cols": 2,
            "table_cells": [
                cell("Time", 0, 0, columns=2),
                cell("cold", 1, 0),
                cell("4\nmin", 1, 1),
                cell("", 2, 0),
                cell("3 min", 2, 1),
            ],
        },
    }
    picture = {
        "self_ref": "#/pictures/0",
        "parent": {"$ref": "#/body"},
        "children": [ref("texts", 15), ref("texts", 16)],
        "content_layer": "body",
        "label": "picture",
        "prov": [],
        "captions": [ref("texts", 15)],
        "references": [],
        "footnotes": [],
        "annotations": [],
    }
    body = [("texts", n) for n in (0, 1, 2, 3, 4, 5)] + [("groups", 0), ("texts", 11), ("tables", 0)]
    body += [("texts", 12), ("texts", 13), ("texts", 14), ("pictures", 0)] + [("texts", n) for n in (17, 18, 19, 20)]
    return {
        "schema_name": "DoclingDocument",
        "version": "1.3.0",
        "name": "kettles",
        "furniture": {
            "self_ref": "#/furniture",
            "children": [],
            "content_layer": "furniture",
            "name": "_root_",
            "label": "unspecified",
        },
        "body": {
            "self_ref": "#/body",
            "children": [ref(*item) for item in body],
            "content_layer": "body",
            "name": "_root_",
            "label": "unspecified",
        },
        "groups": [
            group(0, "list", [ref("texts", 6), ref("texts", 8)]),
            group(1, "list", [ref("texts", 7)], "#/texts/6"),
            group(2, "inline", [ref("texts", 9), ref("texts", 10)], "#/texts/8"),
        ],
        "texts": texts,
        "pictures": [picture],
        "tables": [table],
        "key_value_items": [],
        "form_items": [],
        "pages": {},
    }


PARAGRAPHS = [
    "A kettle boils water.",
    "We heat it.\nTwice.",
    "Fill it.",
    "With water.",
    "Switch it on.",
    "Table 1: Times",
    "Time |\ncold | 4 min\n | 3 min",
    "# not a heading\nboil()",
    "t = 4",
    "Figure 1: A kettle",
    "Tap water.",
]

QUESTIONS = [
    {"query": "What does it boil?", "doc": "my_kettle", "evidence": [{"quote": "boils water"}], "type": "factoid"},
    {"query": "How long?", "doc": "my_kettle", "id": "long", "evidence": [{"quote": "cold | 4 min"}]},
    {"query": "How?", "doc": "my_kettle", "evidence": [{"section": ["Methods", "Heating"]}, {"start": 0, "end": 8}]},
]


def write(folder, content=None, questions=QUESTIONS, name="my kettle.json"):
    (folder / name).write_text(json.dumps(document() if content is None else content), encoding="utf-8")
    rows = "".join(json.dumps(row) + "\n" for row in questions)
    (folder / "questions.jsonl").write_text(rows, encoding="utf-8")
    return {"folder": str(folder)}


def test_a_document_is_read_in_reading_order(tmp_path):
    corpus = build(Options(**write(tmp_path)))
    (kettle,) = corpus.documents
    assert (kettle.doc_id, kettle.title, kettle.path) == ("my_kettle", "On Kettles", "my kettle.json")
    assert [kettle.text[slice(*span)] for span in kettle.paragraphs] == PARAGRAPHS
    assert [(section.path, section.par_start, section.par_end) for section in kettle.sections] == [
        ((), 0, 1),
        (("Methods",), 1, 1),
        (("Methods", "Heating"), 1, 7),
        (("Results",), 7, 11),
    ]
    assert verify(corpus) == []


def test_what_is_not_in_the_text_has_a_reason(tmp_path):
    corpus = build(Options(**write(tmp_path)))
    assert [(item.item_id, item.reason) for item in corpus.funnels["blocks"] if not item.kept] == [
        ("my_kettle#/texts/0", "layer: furniture"),
        ("my_kettle#/pictures/0", "picture"),
        ("my_kettle#/texts/16", "picture"),
        ("my_kettle#/texts/17", "furniture: page_footer"),
        ("my_kettle#/texts/19", "empty"),
        ("my_kettle#/texts/20", "layer: notes"),
    ]
    met = {item.item_id for item in corpus.funnels["blocks"]}
    assert {f"my_kettle#/texts/{index}" for index in range(21)} <= met


def test_questions_find_their_evidence(tmp_path):
    corpus = build(Options(**write(tmp_path)))
    kettle = corpus.documents[0]
    first, second, third = corpus.queries
    assert (first.type, second.query_id, third.type) == ("factoid", "long", "unspecified")
    assert first.spans == ((9, 20),)
    assert [kettle.text[slice(*span)] for span in second.spans] == ["cold | 4 min"]
    assert sorted(third.spans) == [(0, 8), (23, kettle.text.index("# not") - 2)]


def test_items_outside_the_tree_are_reported(tmp_path):
    content = document()
    del content["body"]["children"][5]
    corpus = build(Options(**write(tmp_path, content, []), questions=None))
    reasons = {item.item_id: (item.kept, item.reason) for item in corpus.funnels["blocks"]}
    assert reasons["my_kettle#/texts/5"] == (False, "not_in_body")


def test_tables_and_captions_can_be_left_out(tmp_path):
    options = write(tmp_path, questions=[])
    corpus = build(Options(**options, tables=False, captions=False, questions=None))
    kettle = corpus.documents[0]
    left = [words for words in PARAGRAPHS if not words.startswith(("Table", "Time", "Figure"))]
    assert [kettle.text[slice(*span)] for span in kettle.paragraphs] == left
    reasons = {item.item_id: item.reason for item in corpus.funnels["blocks"]}
    assert reasons["my_kettle#/tables/0"] == "table"
    assert reasons["my_kettle#/texts/11"] == reasons["my_kettle#/texts/15"] == "caption"


def test_headings_may_hold_their_section_and_be_formatted(tmp_path):
    content = document()
    content["body"]["children"] = [ref("texts", 0), ref("texts", 3)]
    content["groups"] = [group(0, "inline", [ref("texts", 1), ref("texts", 2)], "#/texts/0")]
    content["texts"] = [
        text(0, "section_header", "", children=[ref("groups", 0), ref("texts", 4)], level=1),
        text(1, "text", "Partly", "#/groups/0"),
        text(2, "text", "bold", "#/groups/0"),
        text(3, "section_header", "Next", level=1),
        text(4, "text", "Inside.", "#/texts/0"),
    ]
    content["tables"], content["pictures"] = [], []
    corpus = build(Options(**write(tmp_path, content, []), questions=None))
    (one,) = corpus.documents
    assert one.title == "kettles"
    assert one.text == "Inside."
    assert [section.path for section in one.sections] == [("Partly bold",), ("Next",)]


def test_a_second_title_is_a_heading_above_all_levels(tmp_path):
    content = document()
    content["texts"][12]["label"] = "title"
    corpus = build(Options(**write(tmp_path, content, []), questions=None))
    assert corpus.documents[0].title == "On Kettles"
    assert [section.path for section in corpus.documents[0].sections][-1] == ("Results",)


def test_rich_cells_are_not_read_twice(tmp_path):
    content = document()
    content["texts"][16].update(parent={"$ref": "#/tables/0"}, text="4\nmin")
    content["pictures"][0]["children"] = [ref("texts", 15)]
    content["tables"][0]["children"] = [ref("texts", 16)]
    corpus = build(Options(**write(tmp_path, content, []), questions=None))
    assert corpus.documents[0].text.count("min") == 2
    reasons = {item.item_id: item.reason for item in corpus.funnels["blocks"]}
    assert reasons["my_kettle#/texts/16"] == "in_table"


def test_folders_become_ids_and_empty_documents_are_dropped(tmp_path):
    write(tmp_path, questions=[])
    empty = document()
    empty["body"]["children"] = [ref("texts", 0), ref("texts", 3)]
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.json").write_text(json.dumps(empty), encoding="utf-8")
    corpus = build(Options(folder=str(tmp_path), questions=None))
    assert [one.doc_id for one in corpus.documents] == ["my_kettle"]
    assert [(item.item_id, item.reason) for item in corpus.funnels["corpus"]] == [("my_kettle", ""), ("sub/b", "empty")]


def stage(options, out):
    build_corpus(
        "mine",
        {"docling": options},
        str(out / "documents.parquet"),
        str(out / "headings.parquet"),
        str(out / "queries.parquet"),
        str(out / "funnel"),
    )


def test_the_stage_writes_it_and_one_document_is_enough(tmp_path):
    stage(write(tmp_path), tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "documents.parquet").height == 1
    assert pl.read_parquet(tmp_path / "out" / "headings.parquet").height == 4
    assert pl.read_parquet(tmp_path / "out" / "queries.parquet").height == 3


def edited(*path, value):
    content = document()
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


CELL = ("tables", 0, "data", "table_cells", 1)
BAD = {
    "another schema": (
        edited("schema_name", value="Doc"),
        r"my kettle\.json: no DoclingDocument: schema_name is 'Doc'",
    ),
    "a list": ([], r"my kettle\.json: no DoclingDocument: schema_name is 'list'"),
    "no body": (edited("body", value=None), r"my kettle\.json: body is missing"),
    "dangling": (
        edited("body", "children", 2, value=ref("texts", 99)),
        r"json, #/body: refers to #/texts/99, which is not",
    ),
    "no reference": (
        edited("body", "children", 2, value="#/texts/1"),
        r"#/body: children must be a list of references",
    ),
    "no list": (edited("body", "children", value=7), r"#/body: children must be a list of references"),
    "odd root": (edited("body", "children", 2, value={"$ref": "#/pages/1"}), r"refers to #/pages/1"),
    "text": (edited("texts", 2, "text", value=7), r"#/texts/2: text must be a string"),
    "level": (edited("texts", 3, "level", value=0), r"#/texts/3: level must be a whole number from 1"),
    "no cells": (edited("tables", 0, "data", value={}), r"#/tables/0: data\.table_cells is missing"),
    "cell text": (edited(*CELL, "text", value=None), r"#/tables/0, cell 1: text is missing"),
    "cell row": (edited(*CELL, "start_row_offset_idx", value=None), r"#/tables/0, cell 1: start_row_offset_idx"),
    "empty corpus": (edited("body", "children", value=[]), r"the corpus is empty: none of its 1 documents"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_documents_are_named_and_write_nothing(tmp_path, case):
    content, message = BAD[case]
    options = write(tmp_path, copy.deepcopy(content))
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


BAD_QUESTIONS = {
    "unknown doc": ({"doc": "none"}, r"questions\.jsonl.*2.*none"),
    "not there": ({"evidence": [{"quote": "boils tea"}]}, r"questions\.jsonl.*2.*boils tea"),
    "twice there": ({"evidence": [{"quote": "min"}]}, r"questions\.jsonl.*2.*2 times"),
    "past the end": ({"evidence": [{"start": 0, "end": 999}]}, r"questions\.jsonl.*2.*999"),
    "no section": ({"evidence": [{"section": ["Heating"]}]}, r"questions\.jsonl.*2.*Heating"),
    "same id": ({"id": "first"}, r"questions\.jsonl.*2.*first"),
}


@pytest.mark.parametrize("case", BAD_QUESTIONS)
def test_bad_questions_are_named_and_write_nothing(tmp_path, case):
    change, message = BAD_QUESTIONS[case]
    options = write(tmp_path, questions=[{**QUESTIONS[0], "id": "first"}, {**QUESTIONS[0], **change}])
    with pytest.raises(CorpusError, match=message):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_and_unreadable_files_are_named(tmp_path):
    with pytest.raises(CorpusError, match="nowhere: no such folder"):
        build(Options(folder=str(tmp_path / "nowhere")))
    with pytest.raises(CorpusError, match=r"the corpus is empty: no file matches \*\*/\*\.json"):
        build(Options(folder=str(tmp_path)))
    options = write(tmp_path)
    (tmp_path / "questions.jsonl").unlink()
    with pytest.raises(CorpusError, match=r"questions\.jsonl: no such file"):
        stage(options, tmp_path / "out")
    (tmp_path / "my kettle.json").write_bytes(b'{"schema_name": "caf\xe9"}')
    with pytest.raises(CorpusError, match=r"my kettle\.json: not utf-8-sig at byte 20"):
        stage(options, tmp_path / "out")
    (tmp_path / "my kettle.json").write_text("{", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"my kettle\.json, line 1: not JSON"):
        stage(options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_files_of_one_id_are_refused(tmp_path):
    write(tmp_path)
    write(tmp_path, name="my_kettle.json")
    with pytest.raises(CorpusError, match=r"my_kettle\.json: document id my_kettle occurs twice"):
        build(Options(folder=str(tmp_path)))


@pytest.mark.parametrize("articles", ["", "/a/*.json", "../*.json"])
def test_options_are_checked(articles):
    with pytest.raises(ValueError, match=r"articles: .* glob inside the folder"):
        Options(folder="f", articles=articles)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: content.update(tables=5),
            r"my kettle.json, .*refers to #/tables/0, which is not in",
        ),
        (lambda content: content["texts"][1].update(label=["x"]), r"my kettle.json, #/texts/1: label must be a string"),
        (lambda content: content["texts"][1].update(content_layer=3), r"#/texts/1: content_layer must be a string"),
        (lambda content: content["texts"][1].update(text="\ud800"), r"my kettle.json: texts\[1\].text: half of a"),
    ],
)
def test_values_of_the_wrong_kind_are_named(tmp_path, change, message):
    content = document()
    change(content)
    with pytest.raises(CorpusError, match=message):
        build(Options(**write(tmp_path, content)))


def test_tables_that_are_no_list_are_named_though_nothing_refers_to_them(tmp_path):
    content = {"schema_name": "DoclingDocument", "tables": 5, "texts": [text(0, "text", "Hot.")]}
    content["body"] = {"children": [ref("texts", 0)]}
    with pytest.raises(CorpusError, match=r"my kettle.json: tables must be a list, not 5"):
        build(Options(**write(tmp_path, content)))


def test_items_nested_too_deeply_are_named(tmp_path):
    groups = [group(index, "section", [ref("groups", index + 1)]) for index in range(3000)]
    content = {"schema_name": "DoclingDocument", "groups": [*groups, group(3000, "section", [])]}
    content["body"] = {"children": [ref("groups", 0)]}
    with pytest.raises(CorpusError, match=r"my kettle.json: its items are nested too deeply"):
        build(Options(**write(tmp_path, content)))
