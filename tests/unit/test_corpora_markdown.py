import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.markdown import Options, build, read_article

ARTICLE = """---
title: The  Tide
topic: earth
---

Lead text.

## Causes

The moon pulls. The sun pulls too.

### Springs

They pull together.

## Range

This is important.

## Use

This is important.
"""


def article(folder, text, name="tide.md"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(folder, text, name="tide.md"):
    return read_article(article(folder, text, name), name.removesuffix(".md"))


def ask(folder, *rows):
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def question(*evidence, **more):
    return {"query": "why?", "doc": "tide", "evidence": list(evidence), **more}


def paragraphs(document):
    return [document.text[start:end] for start, end in document.paragraphs]


def paths(document):
    return [section.path for section in document.sections]


def errors(folder, **options):
    with pytest.raises(CorpusError) as error:
        build(Options(str(folder), **options))
    return str(error.value)


# ---- reading


def test_front_matter_headings_and_paragraphs(tmp_path):
    document = read(tmp_path, ARTICLE)
    assert (document.doc_id, document.title, document.topic) == ("tide", "The Tide", "earth")
    assert paragraphs(document)[:3] == ["Lead text.", "The moon pulls. The sun pulls too.", "They pull together."]
    assert paths(document) == [(), ("Causes",), ("Causes", "Springs"), ("Range",), ("Use",)]
    assert document.revision.startswith("sha256:")


def test_bom_and_line_ends_are_normalised_once(tmp_path):
    plain = read(tmp_path, ARTICLE)
    for data in (
        b"\xef\xbb\xbf" + ARTICLE.encode(),
        ARTICLE.replace("\n", "\r\n").encode(),
        ARTICLE.replace("\n", "\r").encode(),
    ):
        document = read(tmp_path, data)
        assert document.text == plain.text
        assert (document.paragraphs, document.origins, document.title) == (plain.paragraphs, plain.origins, plain.title)


def test_a_byte_that_is_not_utf8_is_an_error_with_its_place(tmp_path):
    with pytest.raises(CorpusError, match=r"tide\.md: byte 10 \(line 2\) is not UTF-8"):
        read(tmp_path, b"# One\nabcd\xffe")


def test_number_signs_in_code_lists_and_quotes_are_no_headings(tmp_path):
    text = (
        "## A\n\n```sh\n# comment\n\n## not me\n```\n\n    # indented\n\n> ## quoted\n\n- item\n\n  ## inside\n\n"
        "<!--\n## hidden\n-->\n\n#hashtag\n\n####### seven\n"
    )
    document = read(tmp_path, text)
    assert paths(document) == [("A",)]
    assert paragraphs(document) == [
        "```sh\n# comment\n\n## not me\n```",
        "    # indented",
        "> ## quoted",
        "- item\n\n  ## inside",
        "<!--\n## hidden\n-->",
        "#hashtag",
        "####### seven",
    ]


def test_each_block_is_one_paragraph_and_nothing_is_dropped(tmp_path):
    text = (
        "a\tb\u00a0c  d\u2028e\x0bf\nsecond line  \n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n"
        "1. one\n2. two\n\n   more\n\n\n"
        "***\n\n[ref]: http://example.org\n\n<div>\nhtml\n</div>\n"
    )
    document = read(tmp_path, text)
    assert paragraphs(document) == [
        "a\tb\u00a0c  d\u2028e\x0bf\nsecond line  ",
        "| x | y |\n|---|---|\n| 1 | 2 |",
        "1. one\n2. two\n\n   more",
        "***",
        "[ref]: http://example.org",
        "<div>\nhtml\n</div>",
    ]


def test_setext_and_closed_headings_and_markup_in_titles(tmp_path):
    text = "Big\n===\n\na\n\nSmall *one*\n---------\n\nb\n\n"
    text += "## A [link](http://x.org) & `code` <b>x</b> \\# ##\n\nc\n\n# Other\n\nd\n"
    document = read(tmp_path, text)
    assert paths(document) == [("Big",), ("Big", "Small one"), ("Big", "A link & code x #"), ("Other",)]


def test_empty_headings_and_headings_without_body(tmp_path):
    document = read(tmp_path, "## A\n\n##\n\na\n\n## B\n\n### C\n\n### D\n\nd\n\n## E\n")
    assert paths(document) == [("A",), ("B",), ("B", "C"), ("B", "D"), ("E",)]
    assert [(section.par_start, section.par_end) for section in document.sections] == [
        (0, 1),
        (1, 1),
        (1, 1),
        (1, 2),
        (2, 2),
    ]


def test_the_same_paragraph_twice_has_two_spans(tmp_path):
    document = read(tmp_path, ARTICLE)
    first, second = document.paragraphs[3:5]
    assert first != second
    assert document.text[slice(*first)] == document.text[slice(*second)] == "This is important."
    assert document.sections[-1].path == ("Use",)


@pytest.mark.parametrize(
    ("text", "title", "tree"),
    [
        ("# Only\n\na\n\n## B\n\nb", "Only", [(), ("B",)]),
        ("---\ntitle: Front\n---\n# Only\n\na\n\n## B\n\nb", "Front", [(), ("B",)]),
        ("# One\n\na\n\n# Two\n\nb", "tide", [("One",), ("Two",)]),
        ("a\n\n# Late\n\nb", "tide", [(), ("Late",)]),
        ("---\ntitle: 1984\n---\na", "1984", [()]),
        ("---\ntitle:\n---\na", "tide", [()]),
        ("a", "tide", [()]),
    ],
)
def test_the_title(tmp_path, text, title, tree):
    document = read(tmp_path, text)
    assert document.title == title
    assert paths(document) == tree


@pytest.mark.parametrize(
    ("front", "message"),
    [("title: [a", "front matter is no YAML"), ("- a", "no mapping"), ("title: [a, b]", "title in the front matter")],
)
def test_bad_front_matter_names_the_file(tmp_path, front, message):
    with pytest.raises(CorpusError, match=rf"tide\.md.*{message}"):
        read(tmp_path, f"---\n{front}\n---\na")


def test_ids_come_from_front_matter_or_path(tmp_path):
    article(tmp_path, "---\nid: my own\nlicence: CC0\n---\na", "x.md")
    article(tmp_path, "b", "deep/er/two words.md")
    corpus = build(Options(str(tmp_path), questions=None, licence="MIT"))
    assert {(d.doc_id, d.licence) for d in corpus.documents} == {("my-own", "CC0"), ("deep/er/two-words", "MIT")}
    below = build(Options(str(tmp_path), articles="deep/**/*.md", questions=None))
    assert [document.doc_id for document in below.documents] == ["er/two-words"]


def test_two_articles_with_one_id_are_an_error_naming_both(tmp_path):
    article(tmp_path, "a", "a b.md")
    article(tmp_path, "a", "a-b.md")
    message = errors(tmp_path, questions=None)
    assert "a b.md" in message
    assert "a-b.md" in message


BLOCKS = st.sampled_from(
    [
        "para one",
        "two\nlines\twith\u00a0space",
        "## H",
        "### H",
        "- a\n- b\n\n  c",
        "```\n# x\n\ny\n```",
        "> q",
        "| a |\n|---|\n| 1 |",
        "[r]: http://x.org",
        "日本語🙂‍↕️",
        "Set\n---",
        "<p>\nh\n</p>",
    ]
)


@given(st.lists(BLOCKS, max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_paragraph_is_a_slice_of_the_file_and_every_word_is_kept(tmp_path_factory, blocks, newline):
    source = "\n\n".join(blocks)
    document = read(tmp_path_factory.mktemp("a"), source.replace("\n", newline).encode())
    for text, origin in zip(paragraphs(document), document.origins, strict=True):
        assert source[origin : origin + len(text)] == text
    kept = "".join("".join(paragraphs(document)).split())
    headings = {"## H", "### H", "Set\n---"}
    assert kept == "".join("".join(block for block in blocks if block not in headings).split())


# ---- questions


def test_every_form_of_evidence(tmp_path):
    article(tmp_path, ARTICLE)
    ask(
        tmp_path,
        question({"quote": "The sun\npulls too."}, type="factoid"),
        question({"start": 0, "end": 4}, id="mine"),
        question({"section": ["Causes"]}, {"quote": "Lead text."}),
    )
    corpus = build(Options(str(tmp_path)))
    text = corpus.documents[0].text
    assert verify(corpus) == []
    assert [query.query_id for query in corpus.queries] == ["tide-q001", "mine", "tide-q003"]
    assert [query.type for query in corpus.queries] == ["factoid", "unspecified", "unspecified"]
    read_spans = [[text[slice(*span)] for span in query.spans] for query in corpus.queries]
    assert read_spans == [
        ["The sun pulls too."],
        ["Lead"],
        ["The moon pulls. The sun pulls too.\n\nThey pull together.", "Lead text."],
    ]
    assert [item.kept for item in corpus.funnels["queries"]] == [True] * 3


def test_offsets_of_the_file_count_from_its_normalised_text(tmp_path):
    article(tmp_path, b"\xef\xbb\xbf" + ARTICLE.replace("\n", "\r\n").encode())
    start = ARTICLE.index("too.")
    end = ARTICLE.index("pull together") + 4
    ask(tmp_path, question({"start": start, "end": end}))
    corpus = build(Options(str(tmp_path), offsets="file"))
    spans = corpus.queries[0].spans
    assert [corpus.documents[0].text[slice(*span)] for span in spans] == ["too.", "They pull"]


@pytest.mark.parametrize(
    ("row", "offsets", "message"),
    [
        (question({"quote": "This is important."}), "text", "stands 2 times in document tide: at [69, 87), [89, 107)"),
        (question({"quote": "Never written."}), "text", "is not in document tide"),
        (question({"quote": " "}), "text", "quote is no text"),
        (question({"start": 0, "end": 9999}), "text", "ends past the 107 characters of tide"),
        (question({"start": 0, "end": 9999}), "file", f"ends past the {len(ARTICLE)} characters of file"),
        (question({"start": 5, "end": 5}), "text", "is empty, reversed or negative"),
        (question({"start": -1, "end": 5}), "text", "is empty, reversed or negative"),
        (question({"start": True, "end": 5}), "text", "no whole numbers"),
        (question({"start": 10, "end": 12}), "text", "holds no text"),
        (question({"start": 0, "end": 20}), "file", "holds no text"),
        (question({"section": ["Springs"]}), "text", "no such section"),
        (question({"section": []}), "text", "no list of titles"),
        (question({"section": "Causes"}), "text", "no list of titles"),
        (question({"quote": "a", "start": 1}), "text", "evidence is"),
        (question("Lead"), "text", "evidence is"),
        (question(), "text", "no list with at least one piece"),
        (question({"quote": "Lead text."}, answer="x"), "text", "unknown key answer"),
        (question({"quote": "Lead text."}) | {"doc": "ebb"}, "text", "document 'ebb' is not in the corpus"),
        (question({"quote": "Lead text."}) | {"query": " "}, "text", "query is no text"),
        (question({"quote": "Lead text."}, id="a b"), "text", "has white space"),
        ({"doc": "tide", "evidence": [{"quote": "Lead text."}]}, "text", "query is missing"),
        ("{not json", "text", "no JSON"),
        ("[1]", "text", "no JSON object"),
        ('{"query": "a", "query": "b"}', "text", "a key occurs twice"),
    ],
)
def test_a_bad_question_names_file_line_and_reason(tmp_path, row, offsets, message):
    article(tmp_path, ARTICLE)
    ask(tmp_path, question({"start": 100, "end": 105}), "", row)
    found = errors(tmp_path, offsets=offsets)
    assert "questions.jsonl:3: " in found
    assert message in found


def test_an_ambiguous_section_is_an_error(tmp_path):
    article(tmp_path, "## A\n\none\n\n## B\n\nb\n\n## A\n\ntwo\n")
    ask(tmp_path, question({"section": ["A"]}))
    assert "is ambiguous: there are 2, at [0, 3), [8, 11)" in errors(tmp_path)


def test_duplicate_ids_name_both_lines(tmp_path):
    article(tmp_path, ARTICLE)
    ask(tmp_path, question({"quote": "Lead text."}, id="x"), question({"quote": "Lead text."}, id="x"))
    assert "questions.jsonl:2: id x is also that of line 1" in errors(tmp_path)


def test_all_errors_are_collected_and_twenty_are_shown(tmp_path):
    article(tmp_path, ARTICLE)
    ask(tmp_path, *[question({"quote": "No."}, {"quote": "Nor this."}) for _ in range(15)])
    found = errors(tmp_path)
    assert found.startswith("30 errors:")
    assert found.count("questions.jsonl:") == 20
    assert found.endswith("… and 10 more")


def test_ids_are_counted_for_each_document(tmp_path):
    article(tmp_path, ARTICLE)
    article(tmp_path, "Ebb text.", "ebb.md")
    rows = [
        question({"quote": "Lead text."}),
        {**question({"quote": "Ebb text."}), "doc": "ebb"},
        question({"quote": "Lead text."}),
    ]
    ask(tmp_path, *rows)
    assert [query.query_id for query in build(Options(str(tmp_path))).queries] == ["tide-q001", "ebb-q001", "tide-q002"]


# ---- the folder


def test_no_folder_no_article_no_questions(tmp_path):
    assert "no such folder" in errors(tmp_path / "none")
    assert "no file matches '**/*.md'" in errors(tmp_path)
    article(tmp_path, ARTICLE)
    assert "questions.jsonl: no such file; set questions to null" in errors(tmp_path)
    ask(tmp_path)
    assert "it holds no question" in errors(tmp_path)
    corpus = build(Options(str(tmp_path), questions=None))
    assert list(corpus.queries) == []
    assert list(corpus.funnels) == ["corpus"]


def test_an_article_without_text_is_dropped_with_a_reason(tmp_path):
    article(tmp_path, ARTICLE)
    article(tmp_path, "## Only a heading\n", "stub.md")
    corpus = build(Options(str(tmp_path), questions=None))
    assert [document.doc_id for document in corpus.documents] == ["tide"]
    assert [(item.item_id, item.kept) for item in corpus.funnels["corpus"]] == [("stub", False), ("tide", True)]
    assert verify(corpus) == []


@pytest.mark.parametrize(
    "options",
    [
        {"folder": ""},
        {"folder": "x", "offsets": "bytes"},
        {"folder": "x", "articles": "../*.md"},
        {"folder": "x", "questions": ""},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match="builder markdown"):
        Options(**options)


def test_half_of_a_surrogate_pair_and_deep_nesting_are_named(tmp_path):
    article(tmp_path, "One paragraph.\n")
    ask(tmp_path, '{"query": "why \\ud800?", "doc": "tide", "evidence": []}', '{"query": ' + "[" * 100_000)
    found = errors(tmp_path)
    assert "questions.jsonl:1: query: half of a surrogate pair" in found
    assert "questions.jsonl:2: the JSON is nested too deeply" in found
    article(tmp_path, '---\ntitle: "a\\ud800"\n---\nText.\n')
    assert "tide.md: title in the front matter holds half of a surrogate pair" in errors(tmp_path)
