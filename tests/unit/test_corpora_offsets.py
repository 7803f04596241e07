"""Source files and the placing of their offsets: newlines, byte order marks, evidence that is never lost silently."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.corpora.corpus import CorpusError, Heading, Paragraph, Query, assemble
from docstructure.corpora.offsets import Reference, Settled, place, settle, visible
from docstructure.corpora.source import identifier, lines_at, paragraphs_at, read_jsonl, read_source

TEXTS = st.text(alphabet=st.sampled_from("ab \t\né😀\u2028"), max_size=60)


@given(TEXTS)
def test_paragraphs_are_verbatim_slices_that_hold_every_visible_character(text):
    found = list(paragraphs_at(text))
    assert all(text[one.origin : one.origin + len(one.text)] == one.text for one in found)
    assert "".join(visible(one.text) for one in found) == visible(text)
    for one in found:
        assert all(line.strip() for line in one.text.split("\n"))
    blank_between = [text[left.origin + len(left.text) : right.origin] for left, right in pairwise(found)]
    assert all(gap.isspace() and gap.count("\n") >= 2 for gap in blank_between)


def test_paragraphs_keep_indentation_and_drop_the_blank_lines():
    text = "  a\n\tb \n \n\nc\n"
    assert [(one.text, one.origin) for one in paragraphs_at(text)] == [("  a\n\tb ", 0), ("c", 11)]


def test_lines_without_their_ends():
    assert list(lines_at("a\r\n\nb", 0, 5)) == [(0, 1), (3, 3), (4, 5)]


@given(
    st.lists(st.sampled_from(["a", "b\r\n", "\n", "\r\n", "c ", "é"]), min_size=1, max_size=20).map("".join), st.data()
)
def test_offsets_that_count_crlf_as_two_reach_the_same_characters(tmp_path_factory, raw, data):
    path = tmp_path_factory.mktemp("s") / "a.txt"
    path.write_bytes(raw.encode())
    start = data.draw(st.integers(0, len(raw) - 1))
    end = data.draw(st.integers(start + 1, len(raw)))
    source = read_source(path, newlines="kept")
    left, right = source.locate(start, end, "x")
    assert source.text == raw.replace("\r\n", "\n")
    assert visible(source.text[left:right]) == visible(raw[start:end])


def test_crlf_is_one_character_for_tools_that_read_in_text_mode(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab\r\ncd\r\nef")
    text_mode = path.open(encoding="utf-8").read()
    universal, kept = read_source(path), read_source(path, newlines="kept")
    assert universal.text == text_mode == kept.text
    assert universal.locate(6, 8, "x") == (6, 8)
    assert kept.locate(8, 10, "x") == (6, 8)
    with pytest.raises(CorpusError, match=r"x: span \[6, 9\) is empty or outside the 8 characters of"):
        universal.locate(6, 9, "x")
    with pytest.raises(CorpusError, match=r"reads 'ef', not 'cd'.*CRLF line ends: see option newlines"):
        universal.check((6, 8), "cd", "x")


def test_a_byte_order_mark_counts_unless_the_encoding_takes_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfab")
    with_mark, without = read_source(path), read_source(path, "utf-8-sig")
    assert (with_mark.text, with_mark.length) == ("\ufeffab", 3)
    assert (without.text, without.length) == ("ab", 2)
    assert [(one.text, one.origin) for one in paragraphs_at(with_mark.text)] == [("ab", 1)]
    with pytest.raises(CorpusError, match=r"reads '\\ufeffa', not 'ab'.*byte order mark"):
        with_mark.check((0, 2), "ab", "x")


@pytest.mark.parametrize("span", [(-1, 2), (2, 2), (3, 2), (0, 7), (True, 2), ("0", 2), (0.0, 2), (None, 2)])
def test_what_is_no_span_is_refused(tmp_path, span):
    path = tmp_path / "a.txt"
    path.write_text("abcdef", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"item 7: "):
        read_source(path).locate(*span, "item 7")


def test_unreadable_files_are_named(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"caf\xe9 au lait")
    with pytest.raises(CorpusError, match=r"bad\.txt: not utf-8 at byte 3"):
        read_source(bad)
    assert read_source(bad, "cp1252").text == "café au lait"
    with pytest.raises(CorpusError, match=r"none\.txt: no such file"):
        read_source(tmp_path / "none.txt")
    with pytest.raises(CorpusError, match="no such file"):
        read_source(tmp_path)


def test_json_lines_with_line_separators_inside_strings_stay_whole(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"a": "x\u2028y"}\r\n\r\n{"a": 2}'.encode())
    assert list(read_jsonl(path)) == [(1, {"a": "x\u2028y"}), (3, {"a": 2})]
    path.write_text('{"a": 1}\n{"a": 2', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"a\.jsonl, line 2: not JSON"):
        list(read_jsonl(path))
    path.write_text("[1]", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"line 1: a JSON object is expected"):
        list(read_jsonl(path))


def test_identifiers_have_no_white_space():
    assert identifier(" a\u00a0b\tc  d ") == "a_b_c_d"


#         0123456789012345678
FILE = "one two\n# H\nthree\n "
DOCUMENT = assemble("d", "", [Paragraph("one two", 0), Heading(1, "H"), Paragraph("three", 12)])


@pytest.mark.parametrize(
    ("start", "end", "spans", "reason"),
    [
        (4, 7, ((4, 7),), ""),
        (4, 8, ((4, 7),), ""),  # the line end is in no paragraph and no evidence
        (4, 17, ((4, 7), (9, 14)), "outside_text: 2 of 10 characters"),
        (3, 10, ((3, 7),), "outside_text: 1 of 4 characters"),
        (8, 11, None, "outside_text: all 2 characters"),
        (17, 19, None, "outside_text: all 0 characters"),
        (3, 4, None, "outside_text: all 0 characters"),
    ],
)
def test_evidence_is_placed_in_paragraphs_and_losses_are_counted(start, end, spans, reason):
    found = place("i", [DOCUMENT], FILE, start, end, where="x")
    assert found == Reference("i", {"d": spans} if spans else {}, reason)
    assert found.item().kept == (spans is not None)


def test_a_document_that_is_no_copy_of_its_source_is_caught():
    with pytest.raises(CorpusError, match=r"row 4: \[0, 7\) was placed on other characters"):
        place("i", [DOCUMENT], "two one\n", 0, 7, where="row 4")


TWO = [Reference("q#1", {"a": ((0, 3),)}), Reference("q#2", {"b": ((5, 9),), "a": ((2, 6),)})]
ASKED = Query("q", "", "why?", "t", ())


def test_a_query_over_several_documents_is_dropped_with_their_names():
    settled = Settled()
    settle(settled, ASKED, TWO, "drop", "x")
    assert settled.queries == []
    assert [(item.item_id, item.kept, item.reason) for item in settled.items] == [
        ("q", False, "several_documents: a, b")
    ]
    assert len(settled.evidence) == 2
    with pytest.raises(CorpusError, match=r"file: no query is left \(several_documents 1\)"):
        settled.require_queries("file")


def test_a_query_over_several_documents_is_split_into_one_of_each():
    settled = Settled()
    settle(settled, ASKED, TWO, "split", "x")
    assert settled.queries == [
        Query("q@1", "a", "why?", "t", ((0, 6),)),
        Query("q@2", "b", "why?", "t", ((5, 9),)),
    ]
    assert [(item.item_id, item.kept, item.reason) for item in settled.items] == [
        ("q@1", True, "split: q"),
        ("q@2", True, "split: q"),
    ]


def test_a_query_without_any_character_of_its_evidence_fails_by_name():
    lost = [Reference("q#1", {}, "outside_text: all 2 characters")]
    with pytest.raises(CorpusError, match=r"row 3: no evidence of query q .*all 2 characters"):
        settle(Settled(), ASKED, lost, "drop", "row 3")


def test_a_query_with_part_of_its_evidence_names_what_was_left_out():
    settled = Settled()
    settle(settled, ASKED, [TWO[0], Reference("q#2", {}, "outside_text: all 2 characters")], "drop", "x")
    assert [(item.kept, item.reason) for item in settled.items] == [(True, "evidence_left_out: q#2")]
    assert [(item.item_id, item.kept, item.reason) for item in settled.evidence] == [
        ("q#1", True, ""),
        ("q#2", False, "outside_text: all 2 characters"),
    ]
