from __future__ import annotations

import bz2
import os
import random
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.corpora import BUILDERS, wikidump
from docstructure.corpora.corpus import CorpusError, verify
from docstructure.corpora.stage import build_corpus
from docstructure.corpora.wikipedia import OTHER, Options, build, read_topics, walk_order

ROOT = Path(__file__).parents[2]
TOPICS = str(ROOT / "resources" / "topics.yaml")
ARTICLES = ROOT.parent / "shared" / "data" / "wikitext"


def article(words: int = 40, deepest: int = 3, sections: int = 4, extra: str = "{{Featured article}}") -> str:
    parts = [f"{extra}\n{'lead ' * words}"]
    parts += [
        f"{'=' * (deepest if number % 2 else 2)} S{number} {'=' * (deepest if number % 2 else 2)}\ntext."
        for number in range(sections)
    ]
    return "\n".join(parts)


def folder(path: Path, pages: dict[str, str], index: str | None = None) -> str:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (path / f"{name}.wikitext").write_bytes(text.encode())
    if index is not None:
        (path / "index.csv").write_text(index, encoding="utf-8")
    return str(path)


def options(path: str, **changed) -> Options:
    given_options = {"min_words": 20, "min_sections": 4, "topics": TOPICS, **changed}
    return BUILDERS.resolve({"wikipedia": {"source": {"folder": {"path": path}}, **given_options}})[0]


def judged(corpus) -> dict[str, str]:
    return {item.item_id: item.reason for item in corpus.funnels["corpus"]}


def test_every_filter_has_its_reason(tmp_path):
    path = folder(
        tmp_path,
        {
            "Good_one": article(),
            "Short": article(words=5),
            "Flat": article(deepest=2),
            "Few": article(sections=2),
            "Plain": article(extra=""),
            "Moved": "#REDIRECT [[Good one]]",
            "Odd": article() + "\n==Odd== trailing\n",
            "Empty": "{{Featured article}}\n{{Infobox}}\n",
        },
        "file,title,revision\nGood_one.wikitext,Good: one,77\n",
    )
    corpus = build(options(path))
    assert judged(corpus) == {
        "Good:_one": OTHER,
        "Short": "too_short: 9 words, at least 20",
        "Flat": "too_shallow: heading depth 2, at least 3",
        "Few": "too_few_sections: 2 sections, at least 4",
        "Plain": "not_featured",
        "Moved": "redirect",
        "Odd": "headings: 5 found, 4 in the markup; the first difference is at 'after the last one'",
        "Empty": "no_prose",
    }
    (document,) = corpus.documents
    assert (document.doc_id, document.title, document.revision) == ("Good:_one", "Good: one", "77")
    assert (document.path, document.licence, document.topic) == ("Good_one.wikitext", "CC BY-SA 4.0", "other")
    assert document.text.startswith("lead lead")
    assert [section.path for section in document.sections] == [(), ("S0",), ("S0", "S1"), ("S2",), ("S2", "S3")]
    assert verify(corpus) == []
    assert [item.item_id for item in corpus.funnels["templates"]] == ["featured article"]
    kept, source = len("lead " * 40) - 1 + 4 * len("text."), len(article())
    account = corpus.funnels["characters"][0].reason
    assert account == (
        f"kept {kept} of {source} ({100 * kept / source:.1f} %): templates 20, markup {source - kept - 20}"
    )


@pytest.mark.parametrize(
    ("deepest", "reading", "accepted"),
    [(3, "equals", True), (3, "nesting", False), (4, "equals", True), (4, "nesting", False), (2, "equals", False)],
)
def test_both_readings_of_depth(tmp_path, deepest, reading, accepted):
    # == S0 ==, ==== S1 ====: four signs, two levels
    path = folder(tmp_path, {"A": article(deepest=deepest), "Sure": article() + "\n=== T ===\n==== U ====\nx"})
    assert ("A" in judged_kept(build(options(path, depth_reading=reading)))) is accepted


def judged_kept(corpus) -> set[str]:
    return {item.item_id for item in corpus.funnels["corpus"] if item.kept}


def test_the_walk_ends_at_n_docs_and_a_full_bucket_rejects(tmp_path):
    pages = {f"B{number}": article() + "[[Category:Wars of 1800]]" for number in range(8)}
    pages |= {f"O{number}": article() + "[[Category:All articles about war]]" for number in range(8)}
    corpus = build(options(folder(tmp_path, pages), n_docs=8, max_per_bucket=5))
    assert len(corpus.documents) == 8
    order = walk_order(sorted(pages), 20260710)
    found = judged(corpus)
    # the items are a prefix of the walk, and obey an account of it made here
    assert [item.item_id for item in corpus.funnels["corpus"]] == order[: len(found)]
    filled = {"history_war": 0, "other": 0}
    for title in order[: len(found)]:
        bucket = "history_war" if title.startswith("B") else "other"
        full = filled[bucket] == 5
        assert found[title] == (f"bucket_full: {bucket} holds 5" if full else bucket)
        filled[bucket] += not full
    assert build(options(str(tmp_path), n_docs=8, max_per_bucket=5, seed=1)).documents != corpus.documents


@given(st.sets(st.text(min_size=1), max_size=20), st.integers(), st.randoms(use_true_random=False))
def test_the_walk_depends_on_titles_and_seed_alone(titles, seed, shuffler: random.Random):
    shuffled = list(titles)
    shuffler.shuffle(shuffled)
    order = walk_order(shuffled, seed)
    assert sorted(order) == sorted(titles)
    assert walk_order(sorted(titles), seed) == order
    # a title that goes moves no other
    assert walk_order(order[1:], seed) == order[1:]


def test_the_walk_is_pinned():
    # printf '20260710|Autism' | sha256sum: d29bad50.., Canada b8e4900e.., Aikido fc762fea.., Amphibian 344bfa1d..
    assert walk_order(["Autism", "Canada", "Aikido", "Amphibian"], 20260710) == [
        "Amphibian",
        "Canada",
        "Autism",
        "Aikido",
    ]


@pytest.mark.parametrize(
    ("categories", "match", "bucket"),
    [
        (["Battle of Hastings"], "prefix", "history_war"),
        (["1890 births", "Cold War spies"], "prefix", "history_war"),
        (["1890 births"], "prefix", "biography"),
        (["Award winners"], "prefix", "other"),
        (["Award winners"], "substring", "history_war"),
        (["Warships of Spain"], "prefix", "history_war"),
        (["Warships of Spain"], "word", "other"),
        (["2001 video games", "Astronomy"], "prefix", "science_nature"),
        (["Mountains of Peru"], "word", "geo_places"),
        ([], "prefix", "other"),
    ],
)
def test_the_first_bucket_in_table_order_wins(categories, match, bucket):
    assert read_topics(TOPICS, match).bucket(categories) == bucket


def test_topics_are_those_of_table_7():
    table = [name for name, _ in read_topics(TOPICS, "prefix").buckets]
    assert table == ["history_war", "biography", "science_nature", "arts_media", "geo_places"]
    assert read_topics(TOPICS, "prefix").visible(["Use dmy dates from May", "War"]) == ["War"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_docs": 0}, "n_docs is 0; it must be at least 1"),
        ({"depth_reading": "levels"}, "depth_reading is 'levels'; allowed are equals, nesting"),
        ({"topic_match": "fuzzy"}, "topic_match is 'fuzzy'; allowed are prefix, word, substring"),
        ({"page_seconds": 0}, "page_seconds is 0"),
        ({"featured_templates": []}, "featured_templates is empty"),
        ({"source": {}}, "source is {}; write"),
        ({"source": {"http": {}}}, "with one kind of api, dump, folder"),
        ({"source": {"folder": {}}}, "option path is missing"),
        ({"source": {"dump": {"path": ""}}}, "path is empty"),
        ({"source": {"folder": {"path": "x", "glob": "*"}}}, "unknown option glob"),
        ({"source": {"api": {}}}, "contact is ''; name an e-mail address"),
    ],
)
def test_wrong_options_are_named(changed, message):
    with pytest.raises(ValueError, match=message):
        Options(**{"source": {"folder": {"path": "x"}}, **changed})


def attempt(tmp_path: Path, source: dict, **changed) -> None:
    out = tmp_path / "out"
    definition = {"wikipedia": {"source": source, "min_words": 20, "min_sections": 4, "topics": TOPICS, **changed}}
    try:
        build_corpus(
            "fa",
            definition,
            *(str(out / name) for name in ("d.parquet", "h.parquet", "q.parquet")),
            str(out / "funnel"),
        )
    finally:
        assert not out.exists()


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path: None, r"x is not a folder"),
        (lambda path: folder(path, {}), r"holds no .wikitext file"),
        (
            lambda path: (folder(path, {}), (path / "B.wikitext").write_bytes(b"caf\xe9")),
            r"B.wikitext: not UTF-8 \(byte 3\)",
        ),
        (lambda path: folder(path, {"A": "x"}, "title\nA\n"), r"index.csv: column file is missing"),
        (
            lambda path: folder(path, {"A": "x"}, "file,title\nC.wikitext,C\n"),
            r"index.csv: file C.wikitext is not in the folder",
        ),
        (
            lambda path: folder(path, {"A": "x", "B": "x"}, "file,title\nA.wikitext,B\n"),
            r"title 'B' is also that of A.wikitext",
        ),
        (lambda path: folder(path, {"A": article(extra="")}), r"none of 1 pages was accepted: not_featured 1"),
    ],
)
def test_a_bad_folder_is_one_clear_error_and_writes_nothing(tmp_path, prepare, message):
    prepare(tmp_path / "x")
    with pytest.raises(CorpusError, match=message):
        attempt(tmp_path, {"folder": {"path": str(tmp_path / "x")}})


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), ("- a\n", "not a table"), ("buckets: 3\n", "not a table"), ("a: [\n", "not a table")],
)
def test_a_bad_topics_file_is_named(tmp_path, content, message):
    path = tmp_path / "topics.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=f"topics.yaml: {message}"):
        attempt(tmp_path, {"folder": {"path": folder(tmp_path / "x", {"A": article()})}}, topics=str(path))


def test_a_page_over_its_time_is_rejected_by_name(tmp_path):
    path = folder(tmp_path, {"Good": article(), "Slow": "{{Featured article}}\n" + "<div " * 30_000})
    corpus = build(options(path, page_seconds=3.0))
    assert judged(corpus)["Slow"] == "time_limit: not normalised within 3 s"
    assert len(corpus.documents) == 1


def test_templates_and_boilerplate_by_config(tmp_path):
    text = article(extra="{{Featured article}} {{hello|a=there}}") + "\n== Weblinks ==\nx"
    corpus = build(options(folder(tmp_path, {"A": text}), templates={"Hello": "a"}, boilerplate=["Weblinks"]))
    assert corpus.documents[0].text.startswith("there")
    assert corpus.documents[0].sections[-1].path == ("S2", "S3")


# ---- dumps


def dump(pages: list[tuple[str, str, str, int]], base: bool = True) -> bytes:
    body = "".join(
        f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>1</id>"
        + ('<redirect title="X" />' if text == "#REDIRECT" else "")
        + f"<revision><id>{number}</id><text xml:space='preserve'>{escape(text)}</text></revision></page>"
        for title, ns, text, number in pages
    )
    site = "<siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>" if base else ""
    return f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{site}{body}</mediawiki>'.encode()


PAGES = [
    ("A & B", "0", article(), 5),
    ("Talk:A & B", "1", article(), 6),
    ("Old", "0", "#REDIRECT", 7),
    ("Plain", "0", article(extra=""), 8),
    ("C", "0", article(extra="{{ featured_Article }}"), 9),
    ("C", "0", article(words=70), 10),
]


@pytest.mark.parametrize("suffix", [".xml", ".xml.bz2"])
def test_a_dump_is_the_same_corpus_as_its_pages(tmp_path, suffix):
    path = tmp_path / f"d{suffix}"
    data = dump(PAGES)
    path.write_bytes(bz2.compress(data[:2000]) + bz2.compress(data[2000:]) if suffix.endswith("bz2") else data)
    corpus = build(
        BUILDERS.resolve(
            {
                "wikipedia": {
                    "source": {"dump": {"path": str(path)}},
                    "min_words": 20,
                    "min_sections": 4,
                    "topics": TOPICS,
                }
            }
        )[0]
    )
    assert judged(corpus) == {"A_&_B": "other", "C": "other"}
    assert {item.item_id: item.reason for item in corpus.funnels["source"]} == {
        "listed": "2 pages", "not_featured": "1 pages", "other_namespace": "1 pages", "redirect": "1 pages",
        "walked": "2 candidates",
    }  # fmt: skip
    by_id = {document.doc_id: document for document in corpus.documents}
    # parts of a dump may overlap: the newest revision counts
    assert by_id["C"].revision == "10"
    assert by_id["A_&_B"].path == "https://en.wikipedia.org/w/index.php?title=A_%26_B&oldid=5"
    texts = folder(tmp_path / "pages", {"A": PAGES[0][2], "C": PAGES[5][2]})
    assert sorted(document.text for document in corpus.documents) == sorted(
        document.text for document in build(options(texts)).documents
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "no such file"),
        (b"", "not a whole pages-articles XML dump"),
        (dump(PAGES)[:-30], r"not a whole pages-articles XML dump \(ParseError"),
        (bz2.compress(dump(PAGES))[:-20], "not a whole pages-articles XML dump"),
        (b"<html></html>", "its root is <html>"),
        (b"BZh91AY&SYgarbage", r"not a whole .*check its checksum"),
        (dump(PAGES).replace(b"<title>", b"\xff", 1), "not a whole"),
    ],
)
def test_a_bad_dump_is_one_clear_error_and_writes_nothing(tmp_path, data, message):
    path = tmp_path / "d.xml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        attempt(tmp_path, {"dump": {"path": str(path)}})


def test_a_dump_is_not_held_in_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "d.xml"
    big = "x" * 200_000
    path.write_bytes(dump([(f"P{number}", "0", big, number) for number in range(100)]))
    tracemalloc.start()
    source = wikidump.open_source(wikidump.Options(str(path)), ())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(source.titles()) == 100
    assert next(iter(source.pages(["P42"]))).text == big
    assert peak < 5_000_000
    source.finish()


# ---- real articles


@pytest.fixture(scope="module")
def real():
    if not ARTICLES.is_dir():
        pytest.skip(f"{ARTICLES} is not here (real articles are not part of the repository)")
    everything = {"min_words": 0, "min_depth": 0, "min_sections": 0, "require_featured": False}
    return build(options(str(ARTICLES), **everything))


def test_forty_articles_build_without_a_violation(real):
    assert len(real.documents) == 40
    assert verify(real) == []
    assert len(real.funnels["characters"]) == 40
    aikido = next(document for document in real.documents if document.doc_id == "Aikido")
    assert aikido.revision == "712882158"
    assert not {"References", "See also", "External links", "Notes"} & {
        section.path[0] for section in aikido.sections if section.path
    }


def test_the_featured_ones_pass_the_papers_filters():
    if not ARTICLES.is_dir():
        pytest.skip(f"{ARTICLES} is not here (real articles are not part of the repository)")
    corpus = build(options(str(ARTICLES), min_words=3000, min_sections=12))
    assert len(corpus.documents) == 9
    assert sum(reason == "not_featured" for reason in judged(corpus).values()) == 31
    deep = build(options(str(ARTICLES), min_words=3000, min_sections=12, depth_reading="nesting"))
    # the index says which have a ==== heading
    assert {document.doc_id for document in deep.documents} == {
        "40_Wall_Street",
        "Amphibian",
        "Ancient_Egypt",
        "Apollo_11",
    }


def test_the_build_does_not_depend_on_the_working_folder(tmp_path):
    path = folder(tmp_path / "x", {"A": article()})
    here = Path.cwd()
    first = build(options(path)).documents
    try:
        os.chdir(tmp_path)
        assert build(options(path)).documents == first
    finally:
        os.chdir(here)
