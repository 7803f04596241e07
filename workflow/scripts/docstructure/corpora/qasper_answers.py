"""Several annotators, one query: whose answers count, which questions are dropped, and what type a question has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docstructure.corpora.qasper_papers import Answer, Question

EXTRACTIVE, ABSTRACTIVE, BOOLEAN, UNLABELLED = "extractive", "abstractive", "boolean", "unlabelled"

_ALLOWED = {
    "annotators": ("union", "first"),
    "unanswerable": ("all", "any"),
    "contradictory": ("drop", "unanswerable", "answer"),
    "numeric_only": ("drop", "keep"),
    "type_rule": ("evaluator", "reader"),
    "type_by": ("majority", "first"),
}


@dataclass(frozen=True)
class AnswerPolicy:
    """Whose answers count.

    Parameters
    ----------
    annotators
        ``union`` of all annotators' evidence, or the ``first`` annotator alone.
    unanswerable
        Drop a question that ``all`` its annotators, or ``any`` of them, call unanswerable.
    contradictory
        An answer marked unanswerable that holds an answer: ``drop`` it, count it as ``unanswerable`` (as the official
        reader and evaluator do), or count its ``answer``.
    numeric_only
        ``drop`` or ``keep`` a question whose every answer is a number: it has digits and no letters.
    type_rule
        An answer with several fields filled is typed by the first of extractive, abstractive, boolean (``evaluator``)
        or of boolean, extractive, abstractive (``reader``).
    type_by
        Type of a question whose answers differ: the ``majority``'s, the first answer's where it is even, or the
        ``first`` answer's.
    """

    annotators: str = "union"
    unanswerable: str = "all"
    contradictory: str = "drop"
    numeric_only: str = "drop"
    type_rule: str = "evaluator"
    type_by: str = "majority"

    def __post_init__(self) -> None:
        for key, allowed in _ALLOWED.items():
            if getattr(self, key) not in allowed:
                raise ValueError(f"{key} is {getattr(self, key)!r}; allowed are {', '.join(allowed)}")


@dataclass(frozen=True)
class Verdict:
    """Which answers of a question count.

    Parameters
    ----------
    reason
        Why the question is dropped, whatever its evidence; empty when it is not.
    set_aside
        Why each answer does not count; empty where it does.
    type
        Type of the question.
    """

    reason: str
    set_aside: tuple[str, ...]
    type: str = UNLABELLED


def judge(question: Question, policy: AnswerPolicy) -> Verdict:
    """Apply the policy to a question."""
    set_aside = tuple(_set_aside(index, answer, policy) for index, answer in enumerate(question.answers))
    counting = [answer for answer, why in zip(question.answers, set_aside, strict=True) if not why]
    return Verdict(_drop_reason(question, set_aside, counting, policy), set_aside, question_type(counting, policy))


def _drop_reason(question: Question, set_aside: Sequence[str], counting: Sequence[Answer], policy: AnswerPolicy) -> str:
    if not question.question.strip():
        return "empty-question"
    if not question.answers:
        return "no-answer"
    if not counting:
        return "unanswerable" if "unanswerable" in set_aside else "contradictory"
    if policy.unanswerable == "any" and "unanswerable" in set_aside:
        return "unanswerable"
    if policy.numeric_only == "drop" and all(is_numeric(answer, policy.type_rule) for answer in counting):
        return "numeric-only"
    return ""


def _set_aside(index: int, answer: Answer, policy: AnswerPolicy) -> str:
    if policy.annotators == "first" and index:
        return "other-annotator"
    if answer.contradictory:
        return {"drop": "contradictory", "unanswerable": "unanswerable", "answer": ""}[policy.contradictory]
    return "unanswerable" if answer.unanswerable else ""


def answer_type(answer: Answer, type_rule: str) -> str:
    """Return the type of an answer by the precedence of `type_rule`; ``unlabelled`` when no field is filled."""
    filled = {
        EXTRACTIVE: bool(answer.extractive_spans),
        ABSTRACTIVE: bool(answer.free_form.strip()),
        BOOLEAN: answer.yes_no is not None,
    }
    order = (EXTRACTIVE, ABSTRACTIVE, BOOLEAN) if type_rule == "evaluator" else (BOOLEAN, EXTRACTIVE, ABSTRACTIVE)
    return next((kind for kind in order if filled[kind]), UNLABELLED)


def question_type(answers: Sequence[Answer], policy: AnswerPolicy) -> str:
    """Return the type of a question from the answers that count; unlabelled answers have no say."""
    types = [answer_type(answer, policy.type_rule) for answer in answers]
    types = [kind for kind in types if kind != UNLABELLED]
    if not types:
        return UNLABELLED
    votes = Counter(types if policy.type_by == "majority" else types[:1])
    return max(votes, key=lambda kind: (votes[kind], -types.index(kind)))


def is_numeric(answer: Answer, type_rule: str) -> bool:
    """Whether the answer is a number and nothing else: it has a digit and no letter (``84.5 %``, ``1,006``)."""
    kind = answer_type(answer, type_rule)
    if kind not in (EXTRACTIVE, ABSTRACTIVE):
        return False
    text = " ".join(answer.extractive_spans) if kind == EXTRACTIVE else answer.free_form
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))
