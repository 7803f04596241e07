from __future__ import annotations

import csv
import importlib.util
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.corpora.corpus import Corpus, Heading, Paragraph, assemble, verify
from docstructure.corpora.wikidump import Options, open_source
from docstructure.corpora.wikipage import BOILERPLATE, NormaliseError, Page
from docstructure.corpora.wikiprocess import NormaliserProcess
from docstructure.corpora.wikitext import heading_levels, normalise

ARTICLES = Path(__file__).parents[2].parent / "shared" / "data" / "wikitext"
RESIDUE = ("[[", "{{", "''", "<ref", "thumb|", "Category:", "|}", "\x01", "\x02", "\x03", "\x04", "\x7f")


def texts(page: Page) -> list[str]:
    return [block.text for block in page.blocks if isinstance(block, Paragraph)]


def titles(page: Page) -> list[tuple[int, str]]:
    return [(block.rank, block.title) for block in page.blocks if isinstance(block, Heading)]


def residue(page: Page) -> list[str]:
    pieces = [block.title if isinstance(block, Heading) else block.text for block in page.blocks]
    return [f"{mark!r} in {piece[:60]!r}" for piece in pieces for mark in RESIDUE if mark in piece]


def prose(wikitext: str) -> str:
    return "\n".join(texts(normalise(wikitext)))


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        # templates that stand in sentences
        ("It is {{convert|5|km|mi}} long.", "It is 5 km long."),
        ("A {{Convert|927|ft|m|-tall|adj=mid}} tower.", "A 927 ft-tall tower."),
        ("{{convert|5|to|10|km2|sqmi|abbr=on}}", "5 to 10 km2"),
        ("{{cvt|6|ft|2|in|m}} and {{convert|20|C|F}}", "6 ft 2 in and 20 °C"),
        ("{{convert|3|-|4|ft|m|0}}", "3–4 ft"),
        ("{{lang|fr|bon}} {{transl|ja|dō}} {{lang-el|Ἀθῆναι}}", "bon dō Ἀθῆναι"),
        ("a{{nbsp}}b{{snd}}c {{nowrap|d [[e]]}}", "a b – c d e"),
        (
            "{{circa|1930}}, {{as of|2014|4|lc=y}}, {{birth date|1890|9|15|df=y}}",
            "c. 1930, as of April 2014, 15 September 1890",
        ),
        ("{{start date|1929|5|16}}", "May 16, 1929"),
        ("{{USS|Hornet|CV-12}}, {{HMS|Ajax|22|6}}, {{ship|USS|Hornet|CV-8|2}}", "USS Hornet (CV-12), HMS Ajax, Hornet"),
        ("{{frac|1|2|3}} {{val|1.5|0.2|u=kg}} {{val|3|e=8|ul=m/s}}", "1 2/3 1.5 ± 0.2 kg 3 × 10^8 m/s"),
        (
            "{{ill|Castells|ca}}, {{abbr|SR|Strike Rate}}, {{nihongo|Aikido|合気道|Aikidō}}",
            "Castells, SR, Aikido (合気道, Aikidō)",
        ),
        ("{{harvtxt|Rudall|Cribb|Cutler|Humphries|1995}} say", "Rudall et al. (1995) say"),
        ("At {{coord|13|19|N|169|9|W|display=inline}}.", "At 13°19′N 169°9′W."),
        ("{{formatnum:1234}} {{small|{{lang|la|x {{'}}y}}}}", "1234 x 'y"),
        ("Before{{citation needed|date=May 2014}} after{{sfn|Smith|p=1}}.", "Before after."),
        ("a {{blockquote|First words.|author=Ann|source=''Book''}} b", "a\nFirst words.\n— Ann, Book\nb"),
        ("{{unbulleted list|one|[[two]]}}", "one\ntwo"),
        # links
        (
            "[[Oscar bait|bait]]s and [[bus]]es, [[:Category:Birds|birds]] [[:Category:Owls]]",
            "baits and buses, birds Owls",
        ),
        ("[[Foo (bar)|]] [[fr:Foo]]x [[wikt:foo|word]] [[Star Trek: Voyager]]", "Foo x word Star Trek: Voyager"),
        ("[[File:A.jpg|thumb|alt=b|left|A [[caption]] {{convert|1|km}}]]Text.", "Text."),
        ("See [http://a.org the site], [http://b.org] end.", "See the site, end."),
        # tags, comments, entities
        ("a<ref name=x>Smith {{cite book|title=T}} [[L]]</ref> b<ref name=x /> c", "a b c"),
        ("a<!-- x\n\ny --> b <nowiki>''c''</nowiki> d", "a b ' 'c' ' d"),
        ("x<sup>2</sup>&nbsp;&amp;&thinsp;y &lt; z<br />w", "x2 & y < z w"),
        ("<math>x_{{i}}</math> is", "x_{ {i} } is"),
        ("a<br><br>b", "a\nb"),
        ("<blockquote>quoted</blockquote>said", "quoted\nsaid"),
        ("<gallery>\nFile:A.jpg|x\n</gallery>\n__NOTOC__\ntext</div>", "text"),
        ("one<ref>never closed. Two", "onenever closed. Two"),
        # quotes
        ("'''Bold''' ''it'' '''''both''''' l'''amour'' rock 'n' roll", "Bold it both l'amour rock 'n' roll"),
        # paragraphs
        ("one\ntwo\n\nthree\n* a\n** b\n# c\n: d\n; e : f\nlast", "one two\nthree\na\nb\nc\nd\ne\nf\nlast"),
        ("{| class=x\n! h\n|-\n| cell\n|}\nafter", "after"),
        ("main() (; {{gone}}, now) a ({{gone}}; ) b ({{gone}}). ( x )", "main() (now) a b. ( x )"),
        ("a [b [c]] d]] e", "a [b [c] d] e"),
        ("{{gone}}\none\n{{gone}}\ntwo", "one\ntwo"),
        ("[[File:broken.jpg|thumb|never closed\nmore", "more"),
        ("{{unclosed|a\nmore", "unclosed|a more"),
        ("\ufeffa\u00adb\r\nc", "ab c"),
    ],
)
def test_wikitext_reads_as(wikitext, expected):
    assert prose(wikitext) == expected


def test_an_unclosed_quote_swallows_no_section():
    page = normalise("''open\n== A ==\nx '' y\n=== B ===\n'''z\n== C ==\nw\n== D ==\nv")
    assert titles(page) == [(2, "A"), (3, "B"), (2, "C"), (2, "D")]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("== H<ref>n</ref> ==", "H"),
        ("==''Title'' of [[A|B]]==", "Title of B"),
        ("== {{anchor|x}}H &amp; {{lang|fr|bon}} == <!-- c -->", "H & bon"),
        ("== a = b ==", "a = b"),
        ("== [[File:x.jpg|thumb|c]] T ==", "T"),
    ],
)
def test_headings_are_prose_too(line, title):
    assert titles(normalise(f"a\n{line}\nb")) == [(2, title)]


def test_no_heading_in_what_mediawiki_does_not_parse():
    page = normalise("a\n<!--\n== X ==\n-->\n<pre>\n== Y ==\n</pre>\n<nowiki>\n== Z ==\n</nowiki>\n== A ==\nb")
    assert titles(page) == [(2, "A")]
    assert "== Y ==" in "\n".join(texts(page))
    assert titles(normalise("a\n<includeonly>\n== X ==\n</includeonly>\n== A ==\nb")) == [(2, "A")]


@pytest.mark.parametrize(
    ("wikitext", "found", "unseen"),
    [
        ("a\n{|\n|\n== In ==\n|}\n== On ==\nb", ["On"], ("In (table)",)),
        ("{{foo|\n== In ==\nx}}\n== On ==\nb", ["On"], ("In (template foo)",)),
        ("{{lang|fr|\n== In ==\nx}}", ["In"], ()),
        ("<div>\n== In ==\n</div>\n== On ==", ["In", "On"], ()),
        ("{{lang|fr|\n== In ==\nx", ["In"], ()),
        ("a [[b|c\n== In ==\nd]]", ["In"], ()),
    ],
)
def test_a_heading_in_a_container_is_found_or_named(wikitext, found, unseen):
    page = normalise(wikitext)
    assert [title for _, title in titles(page)] == found
    assert page.unseen == unseen


def test_a_page_whose_headings_are_not_those_of_its_markup_is_refused():
    # mwparserfromhell takes this line for a heading, MediaWiki does not
    with pytest.raises(NormaliseError, match=r"^headings: 2 found, 1 in the markup; the first difference is at 'B'"):
        normalise("==Odd== trailing\n=== B ===\n")


def test_boilerplate_sections_go_with_their_subsections():
    page = normalise("a\n== Life ==\nb\n== References ==\nc\n=== Works ===\nd\n== SEE ALSO ==\ne\n== Legacy ==\nf")
    assert titles(page) == [(2, "Life"), (2, "Legacy")]
    assert texts(page) == ["a", "b", "f"]
    assert page.characters["boilerplate"] == 3
    assert titles(normalise("== References ==\nx", boilerplate=())) == [(2, "References")]


def test_every_character_is_accounted_for():
    source = "ab<!--c-->\n{{infobox|x=y}}<ref>r</ref>\n{|\n|t\n|}[[Category:Birds]]"
    counts = dict(normalise(source).characters)
    assert counts.pop("source") == len(source)
    assert (counts["kept"], counts["comments"], counts["templates"], counts["references"]) == (2, 8, 15, 12)
    assert (counts["tables"], counts["links"]) == (8, 18)
    assert sum(counts.values()) == len(source)
    assert normalise(source).categories == ("Birds",)


FRAGMENTS = [
    "word ", "''", "'''", "[[", "]]", "{{", "}}", "|", "\n", "\n\n", "* ", "{|", "|}", "|-", "<ref>", "</ref>",
    "<ref name=a/>", "<!--", "-->", "<nowiki>", "</nowiki>", "[[File:x.jpg|thumb|", "[[Category:Y]]",
    "{{convert|5|km}}", "{{nbsp}}", "&nbsp;", "<br>", "<div>", "</div>", "[http://x y]", "<math>", "</math>", "<b",
    ">", "=", "==", "{{{", "}}}", "\x7f0\x7f", "\x02", "é", "&#91;&#91;", "&#39;&#39;", "__TOC__", "#", ":",
    "<table>", "[", "{", "'",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
def test_any_text_is_read_without_residue_or_refused_by_name(wikitext):
    try:
        page = normalise(wikitext)
    except NormaliseError as error:
        assert str(error).startswith("headings: ")  # noqa: PT017
        return
    # what stands in nowiki is shown as it is
    shown = ("'Category", "'thumb") if "<nowiki>" in wikitext or "<math>" in wikitext else ()
    assert [found for found in residue(page) if not found.startswith(shown)] == []
    assert sum(size for name, size in page.characters.items() if name != "source") == len(wikitext)
    for text in texts(page):
        assert text == " ".join(text.split()) != ""


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(2, 6),
            st.sampled_from(["History", "Early life", "A & B", "C (d)", "Überblick"]),
            st.lists(
                st.sampled_from(["''open", "plain.", "* item", "{{sfn|a}}", "x<ref>\n== no ==\n</ref>", "'''"]),
                max_size=4,
            ),
        ),
        max_size=12,
    )
)
def test_a_known_tree_is_found(sections):
    wikitext = "\n".join(f"{'=' * rank}{title}{'=' * rank}\n" + "\n".join(lines) for rank, title, lines in sections)
    assert titles(normalise(wikitext)) == [(rank, title) for rank, title, _ in sections]


# ---- real articles


@pytest.fixture(scope="module")
def articles() -> list[tuple[str, str, dict[str, str], Page]]:
    if not ARTICLES.is_dir():
        pytest.skip(f"{ARTICLES} is not here (real articles are not part of the repository)")
    with (ARTICLES / "index.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    sources = [(ARTICLES / row["file"]).read_bytes().decode("utf-8") for row in rows]
    pages = [normalise(source, boilerplate=()) for source in sources]
    return [(row["file"], source, row, page) for row, source, page in zip(rows, sources, pages, strict=True)]


def counted_from_the_markup(wikitext: str) -> list[tuple[int, str]]:
    """Heading lines once comments and nowiki are cut out: an oracle that shares no code with the library."""
    text = re.sub(r"(?s)<!--.*?-->|<nowiki>.*?</nowiki>", "", wikitext)
    found = []
    for line in map(str.rstrip, text.splitlines()):
        left = len(line) - len(line.lstrip("="))
        right = len(line) - len(line.rstrip("="))
        if min(left, right) >= 2 and len(line) > left + right:
            found.append((min(left, right), line.strip("= \t")))
    return found


def test_forty_articles_heading_trees_and_residue(articles):
    assert len(articles) == 40
    for file, wikitext, row, page in articles:
        counted = counted_from_the_markup(wikitext)
        assert [rank for rank, _ in titles(page)] == [level for level, _ in counted], file
        assert heading_levels(wikitext) == [(level, title) for level, title in counted], file
        # the index was counted by others, with another tool
        assert len(counted) == int(row["sections"]), file
        assert max(level for level, _ in counted) == int(row["max_heading_equals"]), file
        assert residue(page) == [], file
        assert page.unseen == (), file
        # titles are equal but for their inline markup
        for (_, title), (_, raw) in zip(titles(page), counted, strict=True):
            if not re.search(r"[\[{<&']", raw):
                assert title == " ".join(raw.split()), file
        document = assemble("d", row["title"], page.blocks)
        assert verify(Corpus([document], [])) == [], file
        assert sum(bool(section.path) for section in document.sections) == len(counted), file


def plain_lines(wikitext: str) -> list[str]:
    """Lines of prose that a few rules can read: what must come through to the character."""
    text = re.sub(r"(?s)<!--.*?-->", "", wikitext.replace("\r\n", "\n"))
    text = re.sub(r"(?si)<ref[^<>]*/>|<ref[^<>]*>.*?</ref\s*>", "", text)
    # tables are left out, with the prose that stands in two cells of Algae
    text = re.sub(r"(?s)\n\{\|.*?\n\|\}", "\n", text)
    text = re.sub(r"(?i)<br ?/?>", " ", text)
    lines = []
    text = re.sub(r"\[\[(?!File:|Image:|Category:|[a-z]{2,3}:)(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]", r"\1", text)
    for line in text.split("\n"):
        if (
            re.match(r"[A-Z]", line)
            and len(line) > 150
            and not re.search(r"[\[\]{}<>|&_\u00ad\u200b]|''|https?:|\(\s*[,;)]|[;,]\s*\)", line)
        ):
            lines.append(" ".join(line.split()))
    return lines


def test_forty_articles_keep_their_prose(articles):
    checked = 0
    for file, wikitext, _, page in articles:
        text = "\n".join(texts(page))
        for line in plain_lines(wikitext):
            assert line in text, f"{file}: {line[:80]}"
            checked += 1
    assert checked > 1500


def test_forty_articles_character_table(articles):
    for file, wikitext, _, page in articles:
        counts = dict(page.characters)
        assert 0.2 < counts["kept"] / counts["source"] < 0.8, (file, counts)
        assert counts["stray"] < 100, (file, counts)
        assert counts["markup"] > 0, (file, counts)
        assert sum(size for name, size in counts.items() if name != "source") == len(wikitext)


def dump_path() -> Path:
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    given_path = os.environ.get("DOCSTRUCTURE_ENWIKI_DUMP")
    found = importlib.util.find_spec("gensim")
    if given_path:
        return Path(given_path)
    if found is None or not found.submodule_search_locations:
        pytest.skip(
            "gensim is not installed (its wheel ships part of an enwiki dump), nor DOCSTRUCTURE_ENWIKI_DUMP set"
        )
    return Path(next(iter(found.submodule_search_locations))) / "test" / "test_data" / name


def test_enwiki_dump_heading_trees_and_residue():
    source = open_source(Options(str(dump_path())), ())
    documents = []
    for raw in source.pages(source.titles()):
        page = normalise(raw.text, boilerplate=())
        counted = [level for level, _ in counted_from_the_markup(raw.text)]
        found = [rank for rank, _ in titles(page)]
        if found != counted:
            # the difference must be that of headings in containers, by name
            assert len(found) + len(page.unseen) == len(counted), (raw.title, page.unseen)
        assert residue(page) == [], raw.title
        documents.append(assemble(raw.title.replace(" ", "_"), raw.title, page.blocks))
    source.finish()
    assert len(documents) == 106
    assert verify(Corpus(documents, [])) == []


# ---- the process


def test_the_process_gives_the_same_page_and_survives_bad_ones(tmp_path):
    good = "a [[b]]\n== H ==\n''c'' {{my}} {{convert|5|km}}"
    with NormaliserProcess(60, BOILERPLATE, {}) as normaliser:
        assert normaliser.normalise(good) == normalise(good, frozenset(BOILERPLATE))
        with pytest.raises(NormaliseError, match=r"^headings: "):
            normaliser.normalise("==Odd== trailing\n")
    with NormaliserProcess(3.0, BOILERPLATE, {"my": "name, 1"}) as normaliser:
        assert texts(normaliser.normalise("x {{My|y}}{{my|name=z}}")) == ["x yz"]
        with pytest.raises(NormaliseError, match=r"^time_limit: not normalised within 3 s"):
            normaliser.normalise("<div " * 30_000)
        assert texts(normaliser.normalise("next")) == ["next"]
        normaliser._process.kill()
        with pytest.raises(NormaliseError, match=r"^crashed: .*-9"):
            normaliser.normalise("killed")
        assert texts(normaliser.normalise("next")) == ["next"]
