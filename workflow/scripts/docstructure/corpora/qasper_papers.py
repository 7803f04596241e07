"""QASPER papers in memory, and the two shapes in which they are published: the v0.3 JSON and the hub's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docstructure.corpora.corpus import CorpusError

LABELS = ("unanswerable", "extractive_spans", "yes_no", "free_form_answer")


@dataclass(frozen=True)
class Answer:
    """What one annotator answered, with the evidence strings as published.

    `labelled` is False where the source gives evidence only, without any field that says what the answer was.
    """

    evidence: tuple[str, ...]
    unanswerable: bool = False
    extractive_spans: tuple[str, ...] = ()
    yes_no: bool | None = None
    free_form: str = ""
    labelled: bool = True

    @property
    def answers(self) -> bool:
        """Whether it holds an answer of any type, whatever `unanswerable` says."""
        return bool(self.extractive_spans) or self.yes_no is not None or bool(self.free_form.strip())

    @property
    def contradictory(self) -> bool:
        """Whether it is marked unanswerable and yet holds an answer (qasper-led-baseline#17)."""
        return self.unanswerable and self.answers


@dataclass(frozen=True)
class Question:
    """A reader's question with its annotators' answers, in published order."""

    question_id: str
    question: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class SectionRow:
    """A row of ``full_text``: a name such as ``Experiments ::: Datasets`` (or none) and its paragraphs."""

    name: str | None
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """One paper with its questions."""

    paper_id: str
    title: str
    abstract: str
    rows: tuple[SectionRow, ...]
    questions: tuple[Question, ...]


def parse_paper(paper_id: str, record: object, where: str) -> Paper:
    """Read a paper from its v0.3 record.

    Parameters
    ----------
    paper_id
        Its key in the file: the arXiv id.
    record
        ``{title, abstract, full_text: [{section_name, paragraphs}], qas: [{question, question_id, answers}]}``.
    where
        The file, for messages.

    Raises
    ------
    CorpusError
        If a key is missing or holds something else; the message names the file, the paper and the key.
    """
    here = f"{where}: paper {paper_id}"
    paper = _mapping(record, here)
    rows = []
    for index, row in enumerate(_list(paper, "full_text", here)):
        at = f"{here}: full_text[{index}]"
        fields = _mapping(row, at)
        name = fields.get("section_name")
        rows.append(
            SectionRow(None if name is None else _string(name, f"{at}: section_name"), _texts(fields, "paragraphs", at))
        )
    questions = [_question(item, f"{here}: qas[{index}]") for index, item in enumerate(_list(paper, "qas", here))]
    return Paper(
        paper_id=paper_id,
        title=_string(paper.get("title") or "", f"{here}: title"),
        abstract=_string(paper.get("abstract") or "", f"{here}: abstract"),
        rows=tuple(rows),
        questions=tuple(questions),
    )


def record_of_row(row: Mapping[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """Return paper id and v0.3 record of a row of the hub's conversion, where lists of records are columns of lists.

    Raises
    ------
    CorpusError
        If a column is missing or columns of one list differ in length.
    """
    paper_id = _string(row.get("id"), f"{where}: id")
    here = f"{where}: paper {paper_id}"
    questions = _records(row.get("qas"), f"{here}: qas")
    for index, question in enumerate(questions):
        question["answers"] = _records(question.get("answers"), f"{here}: qas[{index}]: answers")
    return paper_id, {
        "title": row.get("title"),
        "abstract": row.get("abstract"),
        "full_text": _records(row.get("full_text"), f"{here}: full_text"),
        "qas": questions,
    }


def _records(columns: object, where: str) -> list[dict[str, Any]]:
    """Turn ``{key: [values]}`` into ``[{key: value}]``; a list of records is returned as it is."""
    if isinstance(columns, list):
        return [dict(_mapping(item, where)) for item in columns]
    fields = _mapping(columns, where)
    lengths = {key: len(values) for key, values in fields.items() if isinstance(values, Sequence)}
    if len(lengths) != len(fields) or len(set(lengths.values())) > 1:
        raise CorpusError(f"{where}: expected columns of equal length, found {lengths}")
    return [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]


def _question(item: object, where: str) -> Question:
    fields = _mapping(item, where)
    answers = []
    for index, annotation in enumerate(_list(fields, "answers", where)):
        at = f"{where}: answers[{index}]"
        answers.append(_answer(_mapping(_mapping(annotation, at).get("answer"), f"{at}: answer"), f"{at}: answer"))
    return Question(
        question_id=_string(fields.get("question_id"), f"{where}: question_id"),
        question=_string(fields.get("question"), f"{where}: question"),
        answers=tuple(answers),
    )


def _answer(fields: Mapping[str, Any], where: str) -> Answer:
    for key in ("unanswerable", "yes_no"):
        if not isinstance(fields.get(key), bool | None):
            raise CorpusError(f"{where}: {key} is {fields[key]!r}, expected true, false or null")
    return Answer(
        evidence=_texts(fields, "evidence", where),
        unanswerable=bool(fields.get("unanswerable")),
        extractive_spans=_texts(fields, "extractive_spans", where)
        if fields.get("extractive_spans") is not None
        else (),
        yes_no=fields.get("yes_no"),
        free_form=_string(fields.get("free_form_answer") or "", f"{where}: free_form_answer"),
        labelled=any(key in fields for key in LABELS),
    )


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CorpusError(f"{where}: expected an object, found {_kind(value)}")
    return value


def _list(fields: Mapping[str, Any], key: str, where: str) -> Sequence[Any]:
    value = fields.get(key)
    if not isinstance(value, list):
        raise CorpusError(f"{where}: {key} is {_kind(value) if key in fields else 'missing'}, expected a list")
    return value


def _texts(fields: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    values: Iterable[Any] = _list(fields, key, where)
    return tuple(_string(value, f"{where}: {key}[{index}]") for index, value in enumerate(values))


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise CorpusError(f"{where}: expected a text, found {_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{where}: character {error.start} is half of a surrogate pair; the text is damaged"
        ) from None
    return value


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
