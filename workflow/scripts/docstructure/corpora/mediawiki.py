"""Pages from a MediaWiki API: polite, resumable, and pinned by revision.

Every page is written to a cache folder as it arrives, by title and by revision, so that a killed build goes on where it
stopped and asks for no page twice. At the end the walk is written down as ``walks/{digest of the options that decide
it}/manifest.csv`` (titles in walk order, revision ids, categories); a build that is given this file asks for these
revisions and gives the same corpus, to the byte.
"""

from __future__ import annotations

import datetime
import email.utils
import hashlib
import http.client
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path
from typing import Any

from docstructure.corpora.corpus import CorpusError, Item
from docstructure.corpora.wikicache import Cache, Record, manifest_text, read_manifest
from docstructure.corpora.wikipage import RawPage

_BUSY = frozenset({"maxlag", "ratelimited", "readonly"})
_RETRIED_STATUS = frozenset({408, 425, 429})
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Options:
    """Options of the ``api`` source.

    Parameters
    ----------
    contact
        How the wiki's operators reach you: an e-mail address or a user page. It stands in the User-Agent; Wikimedia
        throttles clients that name nobody.
    api
        Address of ``api.php``.
    category, list_page
        Where the titles come from: the articles of a category or, if given, the articles that a page links to.
    cache
        Folder of fetched pages. Removing it loses nothing but time, and the revisions if there is no manifest.
    manifest
        A manifest.csv of an earlier build: its titles in its order, its revisions, its categories.
    batch
        Pages per request (at most 50, the API's limit).
    maxlag
        Seconds of replication lag above which the wiki may turn us away.
    retries, backoff_seconds, max_wait_seconds
        Further tries of a request; the first pause, doubled each time; the longest one. The wiki's own Retry-After
        is waited out; one that is longer than the longest pause ends the build.
    timeout_seconds
        Limit of one request.
    """

    contact: str = ""
    api: str = "https://en.wikipedia.org/w/api.php"
    category: str = "Category:Featured articles"
    list_page: str = ""
    cache: str = "cache/wikipedia"
    manifest: str = ""
    batch: int = 20
    maxlag: int = 5
    retries: int = 8
    backoff_seconds: float = 1.0
    max_wait_seconds: float = 300.0
    timeout_seconds: float = 60.0

    def __post_init__(self) -> None:
        where = "wikipedia source api"
        if not self.contact.strip() or not self.contact.isprintable() or not self.contact.isascii():
            raise ValueError(
                f"{where}: contact is {self.contact!r}; name an e-mail address or user page where the wiki's operators "
                "can reach you (it goes into the User-Agent, which Wikimedia asks for)"
            )
        if urllib.parse.urlsplit(self.api).scheme not in {"http", "https"}:
            raise ValueError(f"{where}: api is {self.api!r}; give the address of an api.php, with https://")
        if not (self.category or self.list_page or self.manifest):
            raise ValueError(f"{where}: give one of category, list_page or manifest")
        if not 1 <= self.batch <= 50:
            raise ValueError(f"{where}: batch is {self.batch}; allowed are 1 to 50")
        for name in ("maxlag", "retries", "backoff_seconds", "max_wait_seconds", "timeout_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{where}: {name} is {getattr(self, name)}; it may not be negative")


class ApiError(CorpusError):
    """The API cannot be reached, or does not answer as it should, after all retries."""


class _BusyError(Exception):
    """A request failed in a way that may pass."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class Api:
    """Requests to one api.php, with patience."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._agent = f"docstructure/0.1 ({options.contact}) python-urllib/{sys.version_info[0]}.{sys.version_info[1]}"

    def query(self, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the ``query`` part of every answer to a query, continued to its end.

        Raises
        ------
        ApiError
            If the wiki refuses, or is still busy after all retries.
        """
        fixed = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "maxlag": str(self._options.maxlag),
            **parameters,
        }
        following: dict[str, str] | None = {}
        while following is not None:
            answer = self._patiently({**fixed, **following})
            yield answer.get("query", {})
            following = answer.get("continue")

    def _patiently(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        options = self._options
        for attempt in range(options.retries + 1):
            try:
                return self._once(parameters)
            except _BusyError as busy:
                wait = min(options.backoff_seconds * 2**attempt, options.max_wait_seconds)
                if busy.wait is not None:
                    wait = busy.wait
                if attempt == options.retries or wait > options.max_wait_seconds:
                    raise ApiError(
                        f"{options.api}: gave up after {attempt + 1} tries: {busy}"
                        + (f" (it asks to wait {wait:g} s)" if wait > options.max_wait_seconds else "")
                        + "; pages fetched so far are kept: run again to go on"
                    ) from None
                print(f"{options.api}: {busy}; next try in {wait:g} s", file=sys.stderr)
                time.sleep(wait)
        raise AssertionError("unreachable")

    def _once(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        request = urllib.request.Request(
            self._options.api,
            data=urllib.parse.urlencode(parameters).encode(),
            headers={"User-Agent": self._agent, "Accept-Encoding": "gzip"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self._options.timeout_seconds) as response:
                body, headers = response.read(), response.headers
            if headers.get("Content-Encoding") == "gzip":
                body = zlib.decompress(body, _GZIP)
            answer = json.loads(body)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code >= 500 or error.code in _RETRIED_STATUS:
                raise _BusyError(f"HTTP {error.code}", _retry_after(error.headers)) from None
            raise ApiError(f"{self._options.api}: HTTP {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            raise _BusyError(f"{type(error).__name__}: {error}") from None
        except (ValueError, zlib.error) as error:
            raise _BusyError(f"an answer that is not whole JSON ({error})") from None
        if not isinstance(answer, dict):
            raise _BusyError("an answer that is no JSON object")
        failure = answer.get("error")
        if failure is None:
            return answer
        code, info = str(failure.get("code")), str(failure.get("info"))
        if code in _BUSY or code.startswith("internal_api_error"):
            raise _BusyError(f"{code}: {info}", _retry_after(headers))
        raise ApiError(f"{self._options.api}: {code}: {info}")


def _retry_after(headers: Message) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number, or a date."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.datetime.now(datetime.timezone.utc)).total_seconds())


class _Answers:
    """What the answers to one question about titles, continued to its end, say together."""

    def __init__(self) -> None:
        self._leads: dict[str, str] = {}
        self._pages: dict[str, dict[str, Any]] = {}

    def add(self, answer: Mapping[str, Any]) -> None:
        for step in (*answer.get("normalized", ()), *answer.get("redirects", ())):
            self._leads[step["from"]] = step["to"]
        for page in answer.get("pages", ()):
            held = self._pages.setdefault(page["title"], {"categories": []})
            held["categories"] += page.get("categories", [])
            held.update({key: value for key, value in page.items() if key != "categories"})

    def follow(self, asked: str) -> tuple[str, str]:
        """Return the title that one leads to, and the problem on the way there, if any."""
        title, seen = asked, {asked}
        while title in self._leads:
            title = self._leads[title]
            if title in seen:
                return title, f"redirect_loop: {' → '.join([*sorted(seen), title])}"
            seen.add(title)
        return title, ""

    def text(self, title: str) -> tuple[str, str] | None:
        """Return revision and wikitext of a page, where it has come."""
        revision = self._revision(title)
        content = revision.get("slots", {}).get("main", {}).get("content")
        return None if content is None else (str(revision["revid"]), content)

    def categories(self, title: str) -> tuple[str, ...] | None:
        """Return the names of a page's categories; None where the wiki has no such page any more."""
        page = self._pages.get(title)
        if page is None or page.get("missing") or page.get("invalid"):
            return None
        return tuple(sorted(category["title"].partition(":")[2] for category in page["categories"]))

    def problem(self, title: str) -> str:
        """Return why a page has no text; empty where the answers do not say."""
        page = self._pages.get(title, {})
        if page.get("missing") or page.get("invalid"):
            return f"missing: the wiki has no page {title}"
        return "hidden: its text is not public" if self._revision(title) else ""

    def _revision(self, title: str) -> dict[str, Any]:
        found: dict[str, Any] = (self._pages.get(title, {}).get("revisions") or [{}])[0]
        return found


class ApiSource:
    """The candidates that an API lists, or those of a manifest."""

    def __init__(self, options: Options, decisions: str = "") -> None:
        self._options, self._api, self._decisions = options, Api(options), decisions
        place = urllib.parse.urlsplit(options.api)
        name = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in place.netloc + place.path)
        self._cache = Cache(Path(options.cache) / name.removesuffix("_api.php"))
        self._pinned = {record.asked: record for record in read_manifest(options.manifest)} if options.manifest else {}
        self._walked: list[Record] = []
        self._listed = 0

    @property
    def ordered(self) -> bool:
        """Whether the titles come in walk order already."""
        return bool(self._pinned)

    def titles(self) -> Sequence[str]:
        """Return the titles of all candidates; the list of the wiki is asked for once."""
        if self._pinned:
            titles = list(self._pinned)
        else:
            origin = self._options.list_page or self._options.category
            path = self._cache.folder / f"listing-{hashlib.sha256(origin.encode()).hexdigest()[:16]}.json"
            if path.is_file():
                titles = json.loads(path.read_text(encoding="utf-8"))
            else:
                titles = self._listing()
                if not titles:
                    raise CorpusError(f"{self._options.api}: {origin} lists no article")
                self._cache.write(path, json.dumps(titles, ensure_ascii=False))
        self._listed = len(titles)
        return titles

    def _listing(self) -> list[str]:
        if self._options.list_page:
            question = {"titles": self._options.list_page, "prop": "links", "plnamespace": "0", "pllimit": "max"}
            return sorted(
                {
                    link["title"]
                    for answer in self._api.query(question)
                    for page in answer.get("pages", [])
                    for link in page.get("links", [])
                }
            )
        question = {
            "list": "categorymembers", "cmtitle": self._options.category, "cmnamespace": "0", "cmtype": "page",
            "cmlimit": "max",
        }  # fmt: skip
        return sorted(
            {member["title"] for answer in self._api.query(question) for member in answer.get("categorymembers", [])}
        )

    def pages(self, titles: Sequence[str]) -> Iterator[RawPage]:
        """Yield the pages of these titles, in their order, fetching what the cache lacks batch by batch."""
        for begin in range(0, len(titles), self._options.batch):
            records = self._records(titles[begin : begin + self._options.batch])
            for record in records:
                self._walked.append(record)
                yield self._page(record)

    def _page(self, record: Record) -> RawPage:
        if record.problem:
            return RawPage(record.asked, record.title, problem=record.problem)
        address = self._options.api.removesuffix("api.php") + "index.php?" + urllib.parse.urlencode(
            {"title": record.title.replace(" ", "_"), "oldid": record.revision}
        )  # fmt: skip
        text = self._cache.text(record.revision)
        return RawPage(record.asked, record.title, text, record.revision, address, record.categories)

    def _records(self, titles: Sequence[str]) -> list[Record]:
        if self._pinned:
            records = [self._pinned[title] for title in titles]
            lacking = [record for record in records if record.revision and not self._cache.has(record.revision)]
            if lacking:
                self._fetch_revisions(lacking)
            return records
        known = {title: self._cache.record(title) for title in titles}
        lacked = [
            title
            for title, record in known.items()
            if record is None or (record.revision and not self._cache.has(record.revision))
        ]
        if lacked:
            known.update({record.asked: record for record in self._fetch_titles(lacked)})
        # A build that was killed in the middle of a batch left these.
        begun = [record for record in known.values() if record is not None and not record.complete]
        if begun:
            known.update({record.asked: record for record in self._fetch_categories(begun)})
        return [record for title in titles if (record := known[title]) is not None]

    def _fetch_titles(self, titles: Sequence[str]) -> list[Record]:
        question = {
            "titles": "|".join(titles), "redirects": "1", "prop": "revisions|categories", "rvprop": "ids|content",
            "rvslots": "main", "clshow": "!hidden", "cllimit": "max",
        }  # fmt: skip
        answers = _Answers()
        arrived: dict[str, Record] = {}
        for answer in self._api.query(question):
            answers.add(answer)
            # Text is kept before the rest is asked for, or a kill in between would fetch it twice.
            for asked in titles:
                if asked not in arrived and (record := self._begin(asked, answers)) is not None:
                    arrived[asked] = record
        return [
            self._finish_record(arrived.get(asked) or self._without_text(asked, asked, answers), answers)
            for asked in titles
        ]

    def _begin(self, asked: str, answers: _Answers) -> Record | None:
        """Keep the text of a page, if it has come, and that its categories are still to come."""
        title, problem = answers.follow(asked)
        found = None if problem else answers.text(title)
        if found is None:
            return None
        record = Record(asked, title, found[0], complete=False)
        self._cache.keep_text(*found)
        self._cache.keep_record(record)
        return record

    def _without_text(self, asked: str, origin: str, answers: _Answers) -> Record:
        title, problem = answers.follow(origin)
        problem = problem or answers.problem(title)
        if not problem:
            # Kept as missing, a fault of one answer would be one of the corpus for ever.
            raise ApiError(f"{self._options.api}: the answer says nothing of {title!r}; run again to ask again")
        return Record(asked, title, problem=problem)

    def _finish_record(self, record: Record, answers: _Answers) -> Record:
        """Keep what is known at a question's end."""
        if not record.problem:
            # The page may have moved, or gone, since its text came.
            title, problem = answers.follow(record.title)
            categories = answers.categories(title)
            if problem or categories is None:
                record = self._without_text(record.asked, record.title, answers)
            else:
                record = replace(record, categories=categories, complete=True)
        self._cache.keep_record(record)
        return record

    def _fetch_categories(self, records: Sequence[Record]) -> list[Record]:
        """Complete records whose text came before a build was killed."""
        question = {
            "titles": "|".join(dict.fromkeys(record.title for record in records)), "redirects": "1",
            "prop": "categories", "clshow": "!hidden", "cllimit": "max",
        }  # fmt: skip
        answers = _Answers()
        for answer in self._api.query(question):
            answers.add(answer)
        return [self._finish_record(record, answers) for record in records]

    def _fetch_revisions(self, records: Sequence[Record]) -> None:
        question = {
            "revids": "|".join(record.revision for record in records), "prop": "revisions", "rvprop": "ids|content",
            "rvslots": "main",
        }  # fmt: skip
        for answer in self._api.query(question):
            for page in answer.get("pages", ()):
                for revision in page.get("revisions", ()):
                    content = revision.get("slots", {}).get("main", {}).get("content")
                    if content is not None:
                        self._cache.keep_text(str(revision["revid"]), content)
        gone = [record for record in records if not self._cache.has(record.revision)]
        if gone:
            raise CorpusError(
                f"{self._options.manifest}: the wiki no longer gives revision {gone[0].revision} of {gone[0].title} "
                f"({len(gone)} such): this corpus can only be rebuilt from the cache of its first build"
            )

    def items(self) -> Sequence[Item]:
        """Return what the funnel says of the source."""
        return [Item("listed", kept=True, reason=f"{self._listed} titles")]

    def finish(self) -> None:
        """Write the manifest of the walk beside the pages."""
        decided = (self._options.category, self._options.list_page, self._options.manifest, self._decisions)
        digest = hashlib.sha256(json.dumps(decided).encode()).hexdigest()[:16]
        path = self._cache.folder / "walks" / digest / "manifest.csv"
        self._cache.write(path, manifest_text(self._walked))
        print(f"wikipedia: the walk's revisions are in {path}", file=sys.stderr)


def open_source(options: Options, decisions: str = "") -> ApiSource:
    """Open the source; nothing is asked for yet. The manifest's folder is named by these `decisions` of the builder."""
    return ApiSource(options, decisions)
