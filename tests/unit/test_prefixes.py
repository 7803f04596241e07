"""Prefixes: rendering, normalising, counting, truncating."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking.chunk import Chunk, to_frame
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS
from docstructure.contracts.documents import DOCUMENTS
from docstructure.contracts.views import VIEWS
from docstructure.prefixes import context, path, placebo
from docstructure.prefixes.breadcrumb import Breadcrumb, Separator, cut_path
from docstructure.prefixes.prefix import PrefixError
from docstructure.prefixes.stage import build_view
from docstructure.registry import KindError
from tests.conftest import TOKENIZER
from tests.unit.chunking_cases import NASTY, words

MARK = Separator(" › ")


def documents_of(titles):
    paragraphs = [{"start": 0, "end": 1}]
    return DOCUMENTS.frame(
        [
            {"doc_id": d, "title": t, "text": "x", "paragraphs": paragraphs, "source": None, "topic": None}
            for d, t in titles.items()
        ]
    )


def chunks_of(paths, n_tokens=100):
    """One chunk of ten characters per (doc_id, path); n_tokens is what the contract says, the text is never read."""
    by_document = {}
    for doc_id, titles in paths:
        chunks = by_document.setdefault(doc_id, [])
        at = 10 * len(chunks)
        chunks.append(
            Chunk(at, at + 10, n_tokens, None if titles is None else tuple(titles), None if titles is None else 0)
        )
    return to_frame(by_document, {doc_id: 10 * len(chunks) for doc_id, chunks in by_document.items()})


@pytest.fixture
def view_of(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr("docstructure.prefixes.stage.load_tokenizer", lambda spec: tokenizer)

    def build(definition, titles, chunks, contexts=None):
        DOCUMENTS.write(documents_of(titles), tmp_path / "documents")
        CHUNKS.write(chunks, tmp_path / "chunks")
        if contexts is not None:
            CONTEXTS.write(contexts, tmp_path / "contexts")
        build_view(
            definition=definition,
            documents=str(tmp_path / "documents"),
            chunks=str(tmp_path / "chunks"),
            contexts=None if contexts is None else str(tmp_path / "contexts"),
            tokenizer=TOKENIZER,
            separator=" › ",
            max_tokens=510,
            view=str(tmp_path / "view"),
        )
        return VIEWS.read(tmp_path / "view")

    return build


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, "[Title] "),
        (2, "[Title › S] "),
        (3, "[Title › S › T] "),
        (4, "[Title › S › T › U] "),
        (9, "[Title › S › T › U] "),
    ],
)
def test_the_document_is_level_one(view_of, depth, expected):
    view = view_of({"path": {"depth": depth}}, {"d": "Title"}, chunks_of([("d", "STU")]))
    assert view["prefix"].to_list() == [expected]


def test_figure_1_of_the_paper(view_of):
    chunks = chunks_of([("d", ["Methods", "Setup"]), ("d", []), ("d", ["Results"])])
    view = view_of({"path": {"depth": 3}}, {"d": "Doc"}, chunks)
    assert view["prefix"].to_list() == ["[Doc › Methods › Setup] ", "[Doc] ", "[Doc › Results] "]
    assert view["donor_doc_id"].null_count() == 3
    assert not view["prefix_truncated"].any()


@pytest.mark.parametrize("title", ["", "  \n", "\u200b"])
def test_the_identifier_stands_for_a_title_that_is_empty(view_of, title):
    view = view_of({"path": {"depth": 2}}, {"1601.04012": title}, chunks_of([("1601.04012", ["A"])]))
    assert view["prefix"].to_list() == ["[1601.04012 › A] "]


def test_an_identifier_is_cleaned_like_a_title(view_of):
    view = view_of({"path": {"depth": 1}}, {"List_of_[x]": ""}, chunks_of([("List_of_[x]", [])]))
    assert view["prefix"].to_list() == ["[List_of_(x)] "]


@pytest.mark.parametrize("definition", [{}, {"none": {}}, {"none": None}])
def test_no_prefix(view_of, definition):
    view = view_of(definition, {"d": "T"}, chunks_of([("d", None), ("d", None)]))
    assert view["prefix"].to_list() == ["", ""]
    assert view["n_prefix_tokens"].to_list() == [0, 0]


@pytest.mark.parametrize(
    ("title", "cleaned"),
    [
        ("See [1] and [2]", "See (1) and (2)"),
        ("Two\r\nlines\n\tand\u00a0more ", "Two lines and more"),
        ("A › B", "A - B"),
        ("› A ›", "- A -"),
        ("› ›", "- -"),
        ("A›B", "A›B"),
        ("p > 0.05", "p > 0.05"),
        ("", ""),
    ],
)
def test_titles_are_cleaned(title, cleaned):
    assert MARK.clean(title) == cleaned


@pytest.mark.parametrize(("mark", "cleaned"), [(" > ", "A - B"), (" - ", "A / B")])
def test_the_separator_in_a_title_is_replaced_by_another_mark(mark, cleaned):
    assert Separator(mark).clean(f"A{mark}B") == cleaned


@given(
    st.lists(st.text(alphabet="ab›[]-> \n\u00a0", max_size=12) | st.sampled_from(NASTY), min_size=1, max_size=4),
    st.sampled_from([" › ", " > ", " - ", " :: "]),
)
@settings(max_examples=300, deadline=None)
def test_a_rendered_path_parts_again_into_its_titles(titles, mark):
    separator = Separator(mark)
    cut = cut_path("Doc", titles, 9, separator)
    text = separator.join(cut)
    assert text[0] == "["
    assert text[-2:] == "] "
    assert "\n" not in text
    assert tuple(text[1:-2].split(mark)) == cut
    assert (text.count("["), text.count("]")) == (1, 1)


def test_an_empty_heading_is_no_level():
    assert cut_path("D", ["", "A", " ", "B", "C"], 3, MARK) == ("D", "A", "B")


@pytest.mark.parametrize("mark", ["", " ", "›", " ›", " [ ", " a b ", " ›\n", "  ›  "])
def test_a_separator_that_could_not_be_read_is_refused(mark):
    with pytest.raises(ValueError, match="separator"):
        Separator(mark)


@given(
    titles=st.lists(st.sampled_from([*NASTY, "Plain title", "Ünï"]), min_size=1, max_size=3),
    content=st.lists(st.sampled_from([*NASTY, "\u0301x", "\tword", "##word", ") end"]), min_size=1, max_size=6).map(
        " ".join
    ),
)
@settings(max_examples=200, deadline=None)
def test_a_prefix_adds_exactly_its_own_tokens(tokenizer, titles, content):
    """n_prefix_tokens is tokens(prefix): nothing merges across the space, whatever the content begins with."""
    separator = MARK
    for prefix in (separator.join([separator.clean(t) or "x" for t in titles]), context.Situation(titles[0]).text):
        assert tokenizer.count(prefix + content) - tokenizer.count(content) == tokenizer.count(prefix)


def test_the_separator_and_brackets_are_counted(view_of, tokenizer):
    view = view_of({"path": {"depth": 3}}, {"d": "cat"}, chunks_of([("d", ["cat", "cat"])]))
    assert view["n_prefix_tokens"].to_list() == [7] == [tokenizer.count("[ cat › cat › cat ]")]


def test_a_prefix_beyond_the_limit_loses_its_deepest_levels(view_of, tokenizer):
    long = words(300)
    chunks = chunks_of([("d", ["sat", long]), ("d", ["sat"])], n_tokens=350)
    view = view_of({"path": {"depth": 3}}, {"d": "cat"}, chunks)
    assert view["prefix"].to_list() == ["[cat › sat] ", "[cat › sat] "]
    assert view["prefix_truncated"].to_list() == [True, False]
    assert view["n_prefix_tokens"].to_list() == [5, 5]


def test_a_title_beyond_the_limit_is_cut_between_words(view_of, tokenizer):
    view = view_of({"path": {"depth": 3}}, {"d": words(300)}, chunks_of([("d", ["s"])], n_tokens=350))
    assert view["prefix"].to_list() == [f"[{words(158)}] "]
    assert view["n_prefix_tokens"].to_list() == [160]


def test_a_title_of_three_hundred_characters_is_kept_where_it_fits(view_of):
    title = ("Characters " * 28)[:300].strip()
    view = view_of({"path": {"depth": 3}}, {"d": title}, chunks_of([("d", [title])], n_tokens=350))
    assert view["prefix"].to_list() == [f"[{title} › {title}] "]
    assert not view["prefix_truncated"].any()


@pytest.mark.parametrize("n_tokens", [508, 509, 510, 511, 600])
def test_where_nothing_of_a_prefix_fits_the_content_stands_alone(view_of, n_tokens):
    view = view_of({"path": {"depth": 1}}, {"d": "cat"}, chunks_of([("d", ["s"])], n_tokens=n_tokens))
    assert view["prefix"].to_list() == [""]
    assert view["n_prefix_tokens"].to_list() == [0]
    assert view["prefix_truncated"].to_list() == [True]


@given(
    levels=st.lists(
        st.sampled_from([*NASTY, words(30), "short"]).map(lambda t: MARK.clean(t) or "x"), min_size=1, max_size=4
    ),
    limit=st.integers(0, 60),
)
@settings(max_examples=200, deadline=None)
def test_a_shortened_path_fits_and_is_the_longest_that_does(tokenizer, levels, limit):
    crumb = Breadcrumb(tuple(levels), MARK)
    text = crumb.shortened(limit, tokenizer)
    assert tokenizer.count(text) <= limit
    whole = [MARK.join(levels[:depth]) for depth in range(1, len(levels) + 1)]
    fitting = [one for one in whole if tokenizer.count(one) <= limit]
    if fitting:
        assert text == fitting[-1]
    elif text:
        assert text.startswith("[")
        assert text.endswith("] ")
        assert levels[0].startswith(text[1:-2])


def test_no_chunk_disappears_however_long_its_path(view_of):
    chunks = chunks_of([("d", [words(900), words(900)]), ("d", ["x" * 2000])], n_tokens=350)
    view = view_of({"path": {"depth": 3}}, {"d": "T"}, chunks)
    assert view["chunk_id"].to_list() == chunks["chunk_id"].to_list()
    assert view["prefix"].to_list() == ["[T] ", f"[T › {'x' * 2000}] "]


@pytest.mark.parametrize("definition", [{"path": {"depth": 3}}, {"placebo": {"depth": 3, "seed": 1}}])
def test_windows_have_no_path(view_of, definition):
    with pytest.raises(PrefixError, match="no heading path"):
        view_of(definition, {"d": "T"}, chunks_of([("d", None)]))


def test_a_chunk_of_an_unknown_document_is_named(view_of):
    with pytest.raises(PrefixError, match="document d is not in documents"):
        view_of({"path": {"depth": 3}}, {"e": "T"}, chunks_of([("d", ["A"])]))


def contexts_of(chunks, texts):
    status = ["ok" if text else "empty" for text in texts]
    return CONTEXTS.frame(
        {
            "chunk_id": chunks["chunk_id"],
            "context": texts,
            "n_tokens": [0] * len(texts),
            "status": status,
            "reason": [""] * len(texts),
        }
    )


def test_a_context_stands_before_a_blank_line(view_of, tokenizer):
    chunks = chunks_of([("d", None), ("d", None), ("d", None)])
    contexts = contexts_of(chunks, ["The cat\n sat.", "", "\u200b"])
    view = view_of({"context": {"contextualizer": "lead"}}, {"d": "T"}, chunks, contexts)
    assert view["prefix"].to_list() == ["The cat sat.\n\n", "", ""]
    assert view["n_prefix_tokens"].to_list() == [4, 0, 0]


def test_a_failed_context_is_an_error_not_a_chunk_without_one(view_of):
    chunks = chunks_of([("d", None), ("d", None)])
    contexts = contexts_of(chunks, ["The cat sat.", ""]).with_columns(status=pl.Series(["ok", "failed"]))
    with pytest.raises(PrefixError, match=r"request failed \(1 such chunks\).*eligibility.contexts"):
        view_of({"context": {"contextualizer": "gemma"}}, {"d": "T"}, chunks, contexts)


def test_a_context_beyond_the_limit_is_cut_at_its_end(view_of, tokenizer):
    chunks = chunks_of([("d", None)], n_tokens=500)
    view = view_of({"context": {"contextualizer": "lead"}}, {"d": "T"}, chunks, contexts_of(chunks, [words(80)]))
    assert view["prefix"].to_list() == [words(10) + "\n\n"]
    assert view["prefix_truncated"].to_list() == [True]


def test_contexts_in_another_order_reach_their_chunks(view_of):
    chunks = chunks_of([("d", None), ("d", None)])
    contexts = contexts_of(chunks, ["One.", "Two."]).reverse()
    view = view_of({"context": {"contextualizer": "lead"}}, {"d": "T"}, chunks, contexts)
    assert view["prefix"].to_list() == ["One.\n\n", "Two.\n\n"]


def test_a_chunk_without_context_row_is_an_error(view_of):
    chunks = chunks_of([("d", None), ("d", None)])
    with pytest.raises(PrefixError, match="has no row"):
        view_of({"context": {"contextualizer": "lead"}}, {"d": "T"}, chunks, contexts_of(chunks, ["One.", "Two."])[:1])
    with pytest.raises(PrefixError, match="not given"):
        view_of({"context": {"contextualizer": "lead"}}, {"d": "T"}, chunks)


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        ({"path": {}}, KindError),
        ({"path": {"depth": 0}}, ValueError),
        ({"path": {"depth": 3, "sep": ">"}}, KindError),
        ({"breadcrumb": {}}, KindError),
        ({"placebo": {"depth": 3}}, KindError),
    ],
)
def test_definitions_are_validated(view_of, definition, error):
    with pytest.raises(error):
        view_of(definition, {"d": "T"}, chunks_of([("d", ["A"])]))


@pytest.mark.parametrize("options", [(0, 1), (3, -1)])
def test_placebo_options_are_validated(options):
    with pytest.raises(ValueError, match="placebo"):
        placebo.Options(*options)


def test_path_options_are_validated():
    with pytest.raises(ValueError, match="depth"):
        path.Options(0)


def test_equal_prefixes_of_views_are_equal_strings(view_of):
    """A3 at depth 1 of a chunk with an empty path is A3 at depth 3 of it: views share texts, so vectors are shared."""
    chunks = chunks_of([("d", []), ("d", ["A"])])
    one, three = (view_of({"path": {"depth": depth}}, {"d": "T"}, chunks) for depth in (1, 3))
    assert one["prefix"][0] == three["prefix"][0]
    assert isinstance(one, pl.DataFrame)
