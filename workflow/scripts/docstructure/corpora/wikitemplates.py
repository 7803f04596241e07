"""The templates whose text is prose: what each one reads as. Every template that is not listed here is left out.

Templates are programs; without their wiki they cannot be run. Those that stand inside sentences are few and regular,
and a sentence that loses them is no longer the author's ("The tower is tall and was begun in"). They are rendered from
their parameters alone, in one fixed way: no unit is converted and nothing is computed, so that the same wikitext gives
the same text for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

PARAGRAPH = "\n\n"
ITEM = "\n\x03"

_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_NUMBER = re.compile(r"^[-−+±]?[\d.,/⁄ +]*\d[\d.,]*(?:e[-−+]?\d+)?$|^[-−+]?\.\d+$|^\d+[½¼¾⅓⅔⅛⅜⅝⅞]?$|^[½¼¾⅓⅔⅛⅜⅝⅞]$")
_UNITS = {
    "c": "°C", "f": "°F", "sqmi": "sq mi", "sqft": "sq ft", "sqm": "m2", "ft2": "sq ft", "mi2": "sq mi", "in2": "sq in",
    "yd2": "sq yd", "cuft": "cu ft", "cuyd": "cu yd", "cumi": "cu mi", "ft3": "cu ft", "in3": "cu in", "acre": "acres",
    "nmi": "nautical miles", "kn": "knots", "kt": "knots", "lt": "long tons", "st": "short tons", "t": "tonnes",
    "kmh": "km/h", "kph": "km/h",
}  # fmt: skip
_RANGES = {
    "-": "–", "–": "–", "to": " to ", "and": " and ", "or": " or ", "by": " by ", "x": " × ", "×": " × ", "xx": " × ",
    "to(-)": " to ", "and(-)": " and ", "+": " + ", "+/-": " ± ", "±": " ± ", "to about": " to about ",
}  # fmt: skip


class Arguments:
    """The parameters of one use of a template, rendered when asked for.

    Parameters
    ----------
    parameters
        Name (positions are ``1``, ``2`` ...) to wikicode.
    render
        Turns wikicode into text.
    """

    def __init__(self, parameters: Mapping[str, Any], render: Callable[[Any], str]) -> None:
        self._parameters, self._render = parameters, render

    def __getitem__(self, name: str | int) -> str:
        value = self._parameters.get(str(name))
        return "" if value is None else self._render(value).strip()

    def first(self, *names: str | int) -> str:
        """Return the first of these parameters that is not empty."""
        return next((text for text in (self[name] for name in names) if text), "")

    def positional(self) -> list[str]:
        """Return parameters 1, 2 ... up to the first that is not given."""
        texts: list[str] = []
        while str(len(texts) + 1) in self._parameters:
            texts.append(self[len(texts) + 1])
        return texts


Renderer = Callable[[Arguments], str]


def keep(*names: str | int) -> Renderer:
    """Keep one parameter: the first of `names` that is not empty."""
    return lambda arguments: arguments.first(*names)


def _constant(text: str) -> Renderer:
    return lambda _: text


def _around(left: str, right: str, *names: str | int) -> Renderer:
    def render(arguments: Arguments) -> str:
        text = arguments.first(*(names or (1,)))
        return f"{left}{text}{right}" if text else ""

    return render


def _last(arguments: Arguments) -> str:
    return next((text for text in reversed(arguments.positional()) if text), "")


def _joined(separator: str) -> Renderer:
    return lambda arguments: separator.join(text for text in arguments.positional() if text)


def _items(arguments: Arguments) -> str:
    return "".join(ITEM + text for text in arguments.positional() if text) + "\n"


def _block(arguments: Arguments) -> str:
    return PARAGRAPH + arguments.first("content", "text", 1) + PARAGRAPH


def _quotation(arguments: Arguments) -> str:
    text = arguments.first("text", "quote", "content", "quotetext", 1)
    signs = [
        sign for sign in (arguments.first("author", "sign", "cite", 2), arguments.first("title", "source", 3)) if sign
    ]
    return PARAGRAPH + text + PARAGRAPH + (f"— {', '.join(signs)}{PARAGRAPH}" if signs and text else "")


def _unit(code: str) -> str:
    return _UNITS.get(code.casefold(), code)


def _statement(arguments: Arguments) -> str:
    text = arguments.first("math_statement", "proof", "statement", 1)
    return f"{PARAGRAPH}{arguments['name']}{'. ' if arguments['name'] else ''}{text}{PARAGRAPH}" if text else ""


def _convert(arguments: Arguments) -> str:
    """``{{convert|5|to|6|km|mi}}`` reads "5 to 6 km": the author's figures in the author's unit."""
    values = arguments.positional()
    text, index = "", 0
    while index < len(values):
        value = values[index]
        if _NUMBER.match(value):
            text += value if not text or text[-1] in " –" else f" {value}"
        elif value in _RANGES and index + 1 < len(values) and text:
            text += _RANGES[value]
        elif text:
            text += f" {_unit(value)}"
            # 5|ft|6|in is one length; 5|ft|1 is a length and a rounding
            if not (
                index + 2 < len(values) and _NUMBER.match(values[index + 1]) and not _NUMBER.match(values[index + 2])
            ):
                break
            if values[index + 2].casefold() not in {"in", "oz", "lb", "ft", "ch", "yd", "s", "min", "d", "h"}:
                break
        else:
            return value
        index += 1
    if arguments["adj"] == "mid" and index + 1 < len(values):
        middle = values[-1]
        text += middle if middle.startswith("-") else f" {middle}"
    return text


def _date(arguments: Arguments) -> str:
    numbers = [value for value in arguments.positional() if value]
    if not numbers or not numbers[0].lstrip("-−").isdigit():
        return numbers[0] if numbers else ""
    year, month, day = (*numbers[:3], "", "")[:3]
    name = _MONTHS[int(month) - 1] if month.isdigit() and 1 <= int(month) <= len(_MONTHS) else month
    if not name:
        return year
    if not day.isdigit():
        return f"{name} {year}"
    return f"{int(day)} {name} {year}" if arguments["df"] else f"{name} {int(day)}, {year}"


def _as_of(arguments: Arguments) -> str:
    if arguments["alt"]:
        return arguments["alt"]
    words = (
        ("since" if arguments["since"] else "as of")
        if arguments["lc"]
        else ("Since" if arguments["since"] else "As of")
    )
    numbers = arguments.positional()
    year, month, day = (*numbers[:3], "", "", "")[:3]
    name = _MONTHS[int(month) - 1] if month.isdigit() and 1 <= int(month) <= len(_MONTHS) else month
    return " ".join(part for part in (words, day, name, year) if part)


def _circa(arguments: Arguments) -> str:
    return " – ".join(f"c. {text}" for text in arguments.positional()[:2] if text) or "c."


def _span_of_years(word: str) -> Renderer:
    return lambda arguments: f"{word} {'–'.join(text for text in arguments.positional()[:2] if text)}".strip()


def _fraction(arguments: Arguments) -> str:
    values = [value for value in arguments.positional() if value]
    if len(values) == 1:
        return f"1/{values[0]}"
    whole = f"{values[0]} " if len(values) == 3 else ""
    return whole + "/".join(values[-2:])


def _value(arguments: Arguments) -> str:
    text = arguments[1]
    error = arguments[2]
    if error:
        text += error if error.startswith("(") else f" ± {error}"
    if arguments["e"]:
        text += f" × 10^{arguments['e']}"
    unit = arguments.first("u", "ul", "up")
    return f"{text} {unit}".strip()


def _nihongo(arguments: Arguments) -> str:
    name, inside = arguments[1], [text for text in (arguments[2], arguments[3]) if text]
    if not name:
        return ", ".join(inside)
    return f"{name} ({', '.join(inside)})" if inside else name


def _ship(prefix: str = "") -> Renderer:
    """``{{USS|Hornet|CV-12}}`` reads "USS Hornet (CV-12)"; form 6 is without the number, form 2 the bare name."""

    def render(arguments: Arguments) -> str:
        given = arguments.positional()
        if not prefix:
            first, given = (given[0] if given else ""), given[1:]
        else:
            first = prefix
        name, number, form = (*given[:3], "", "", "")[:3]
        if form == "1":
            return number or name
        if form == "2":
            return name
        named = name if form == "3" else " ".join(part for part in (first, name) if part)
        return f"{named} ({number})" if number and form != "6" else named

    return render


def _authors(arguments: Arguments) -> str:
    """``{{harvtxt|Smith|Jones|1995}}`` reads "Smith & Jones (1995)"."""
    names = [text for text in arguments.positional() if text]
    year = names.pop() if names and re.match(r"\d{3,4}[a-z]?$|n\.d\.$", names[-1]) else ""
    if len(names) > 3:
        who = f"{names[0]} et al."
    else:
        who = " & ".join(part for part in (", ".join(names[:-1]), names[-1] if names else "") if part)
    return f"{who} ({year})" if year else who


def _pronunciation(arguments: Arguments) -> str:
    sounds = [
        text for text in arguments.positional() if text and text.casefold() not in {"pron", "uk", "us", "lang", "local"}
    ]
    return f"/{''.join(sounds).replace(',_', ', ').replace('_', ' ')}/" if sounds else ""


def _ipa(arguments: Arguments) -> str:
    """``{{IPA|fr|paʁi}}`` and the older ``{{IPA|paʁi}}`` read "paʁi"."""
    return arguments.first(2, 1) if re.fullmatch(r"[a-z]{2,3}(-[A-Za-z-]+)?", arguments[1]) else arguments[1]


def _section_link(arguments: Arguments) -> str:
    page, *sections = arguments.positional() or [""]
    return " ".join(part for part in (page, "§ " + ", ".join(sections) if sections else "") if part)


def _music(arguments: Arguments) -> str:
    return {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}.get(arguments[1].casefold(), arguments[1])


def _coordinates(arguments: Arguments) -> str:
    """``{{coord|13|19|N|169|9|W}}`` reads "13°19′N 169°9′W"; one for the page's head alone reads nothing."""
    if arguments["display"] in {"title", "t"}:
        return ""
    parts, text, marks = [], "", iter("°′″")
    for value in arguments.positional():
        if value in {"N", "S", "E", "W"}:
            parts.append(text + value)
            text, marks = "", iter("°′″")
        elif re.fullmatch(r"[-−+]?[\d.]+", value) and len(parts) < 2:
            text += value + next(marks, "")
    return " ".join(parts) if parts else ", ".join(arguments.positional()[:2])


def _verse(arguments: Arguments) -> str:
    return " ".join(text for text in arguments.positional()[:3] if text)


def _named(prefix: Sequence[str]) -> Renderer:
    return lambda arguments: ", ".join(text for text in (arguments[name] for name in prefix) if text)


def _table() -> dict[str, Renderer]:
    groups: list[tuple[Renderer, str]] = [
        (_convert, "convert, cvt"),
        (keep(2, "text"), "lang, rtl-lang, script, font, native name, native phrase, wikt-lang"),
        (_last, "transl, transliteration, tlit, resize, font color, colour, color, fontcolor, background color"),
        (
            keep(1, "text", "content"),
            "nowrap, nobr, nobreak, nowrap begin, small, smaller, big, large, larger, center, centre,"
            " nobold, noitalic, "
            "normal, em, strong, smallcaps, sc, sc1, sc2, smallcaps all, allcaps, nastaliq, linktext,"
            " vr, keypress, key, "
            "code, mono, kbd, samp, var, mvar, math, bigmath, vanchor, visible anchor, not a typo, typo, proper name, "
            "abbr, abbrlink, tooltip, hover title, ipa link, flag, flagu, flagcountry, flaglist, country, nts, "
            "formatnum, number, railgauge, track gauge, sup, sub, smallsup, underline, strike, as "
            "written, noflag, chem2, "
            "mp, minor planet, no italic, italic, crossreference, xref, nihongo2, nihongo3, coptic, hebrew, unicode, "
            "polytonic, wrap, formatdate, date, birth year and age, death year and age, birth-date, "
            "birth-date and age, "
            "death-date, death-date and age, start-date, end-date",
        ),
        (_ipa, "ipa"),
        (keep("lt", 1), "ill, interlanguage link, link-interwiki, ill2, interlanguage link multi"),
        (_quotation, "blockquote, quote, quotation, cquote, bquote, quote frame, poemquote, poem quote, rquote"),
        (
            _block,
            "div col, columns-list, columns list, col-list, colist, poem, plainlist, flatlist, block "
            "indent, verse translation",
        ),
        (
            _items,
            "unbulleted list, ubl, ublist, bulleted list, blist, ordered list, olist, vunblist, ulist",
        ),
        (_joined(", "), "hlist"),
        (_joined(""), "chem, gaps"),
        (_joined("-"), "respell"),
        (
            _date,
            "birth date, birth date and age, birthdate, bda, death date, death date and age, dda, "
            "start date, end date, "
            "start date and age, end date and age, film date, release date, date of birth, b-da, launch date, dts",
        ),
        (_as_of, "as of, asof, as of?"),
        (_circa, "circa, c., ca, ca."),
        (_span_of_years("r."), "reign, r."),
        (_span_of_years("fl."), "floruit, fl., fl"),
        (_span_of_years("b."), "born-in, b."),
        (_fraction, "frac, fraction, sfrac, ⁄"),
        (_value, "val, value"),
        (_around(" × 10^", ""), "e, esp"),
        (_nihongo, "nihongo, nihongo foot, korean"),
        (_named(("t", "s", "c", "p", "tp", "w", "l")), "zh, lang-zh"),
        (_ship(), "ship, sclass2, warship"),
        (_joined(" "), "sclass-, class"),
        (_around("", "-class", 1), "sclass"),
        (_authors, "harvtxt, harvcoltxt"),
        (_pronunciation, "ipac-en, ipac-fr, ipac-de, ipac-es, ipac-pl"),
        (_section_link, "section link, slink, section-link"),
        (_coordinates, "coord"),
        (_verse, "bibleverse, bible verse, bibleref, bibleref2"),
        (_around("ISBN ", ""), "isbn"),
        (_statement, "math theorem, math proof, theorem, proof"),
        (_music, "music, music symbol"),
        (_around("⟨", "⟩"), "angbr, angbr ipa, angle bracket, grapheme"),
        (_around("lit. '", "'"), "lit, literal translation, lit., literally"),
        (_around("transl. ", ""), "translation, trans, tr."),
        (_around("'", "'"), "gloss"),
        (_around("US$", ""), "us$, usd, u.s. dollar"),
        (_around("£", ""), "gbp, £, pound sterling"),
        (_around("€", ""), "eur, €, euro"),
        (_around("A$", ""), "a$, aud"),
        (_around("C$", ""), "c$, cad, can$"),
        (_around("₹", ""), "inr, ₹, indian rupee"),
        (_around("¥", ""), "jpy, ¥, yen"),
        (_around('"', '"'), '"'),
        (_around("|", "|"), "abs, abs."),
        (lambda arguments: arguments[1] or "[sic]", "sic"),
        (
            _constant(" "),
            "nbsp, space, spaces, thinsp, thin space, hairsp, hair space, figure space, nnbsp, en "
            "space, em space, zwsp",
        ),
        (_constant(" – "), "snd, spnd, spaced ndash, spaced en dash, sndash, spndash, ndashb, en dash spaced"),
        (_constant(" — "), "spaced mdash, spaced em dash, smd, mdashb, emdashb"),
        (_constant("–"), "ndash, en dash, endash, nsndns"),
        (_constant("—"), "mdash, em dash, emdash"),
        (_constant(" · "), "·, dot, middot, bullet, •, bold dot, \\"),
        (_constant("'"), "', apos, okina, ‘"),
        (_constant("'s"), "'s"),
        (_constant("'\""), "'\", ' \""),
        (_constant("\"'"), "\"', \" '"),
        (_constant("†"), "dagger, †"),
        (_constant("‡"), "double-dagger, double dagger, ‡"),
        (_constant("π"), "pi"),
        (_constant("="), "="),
        (_constant("|"), "!, pipe, sub pipe"),
        (_constant("…"), "ellipsis, ..., …"),
        (_constant("₤"), "lira"),
        (_constant("°"), "deg, degree"),
    ]
    table = {name.strip(): renderer for renderer, names in groups for name in names.split(", ")}
    for ship in [
        "USS",
        "HMS",
        "HMAS",
        "HMCS",
        "HMNZS",
        "HMT",
        "RMS",
        "SS",
        "MV",
        "MS",
        "SMS",
        "USCGC",
        "USAT",
        "USNS",
        "USRC",
        "CSS",
        "INS",
        "ORP",
        "JS",
        "HSwMS",
        "HNoMS",
        "HNLMS",
        "HDMS",
        "USC&GS",
        "ROKS",
        "RFA",
        "GTS",
        "PS",
        "TS",
        "SAS",
        "ARA",
        "BNS",
        "EML",
        "ESPS",
        "FGS",
        "HMSAS",
        "HTMS",
        "TCG",
        "USFS",
        "USAS",
        "HMHS",
        "HMVS",
    ]:
        table[ship.casefold()] = _ship(ship)
    return table


RENDERED: Mapping[str, Renderer] = _table()

FUNCTIONS = frozenset({"formatnum", "lc", "uc", "lcfirst", "ucfirst"})
"""Parser functions whose text, after the colon, is kept."""


def renderer(name: str, extra: Mapping[str, Renderer]) -> Renderer | None:
    """Return how a template is rendered, or None where it is left out.

    Parameters
    ----------
    name
        As in the wikitext; case, underscores and the ``Template:`` prefix do not matter.
    extra
        More templates, or other choices, by folded name (`fold`).
    """
    folded = fold(name)
    found = extra.get(folded) or RENDERED.get(folded)
    if found is None and folded.startswith(("lang-", "ipa-")):
        return keep(1, "text")
    return found


def fold(name: str) -> str:
    """Return a template's name in the form in which names are compared."""
    return " ".join(name.replace("_", " ").split()).casefold().removeprefix("template:")
