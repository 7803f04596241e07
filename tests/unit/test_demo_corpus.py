"""The demo corpus is what its README says: built by the markdown builder, checked by the paper's own rules."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from rouge_score import rouge_scorer

from docstructure.corpora.corpus import verify
from docstructure.corpora.markdown import Options, build

DEMO = Path(__file__).parents[2] / "resources" / "demo"
TYPES = {"factoid", "multihop", "structural", "underspecified"}


@cache
def corpus():
    return build(Options(str(DEMO), articles="articles/*.md"))


def documents():
    return {document.doc_id: document for document in corpus().documents}


def words(text):
    return re.findall(r"\w+", text.lower())


def four_grams(text):
    tokens = words(text)
    return {tuple(tokens[index : index + 4]) for index in range(len(tokens) - 3)}


def top_section(document, span):
    inside = [p for p, (start, end) in enumerate(document.paragraphs) if start <= span[0] and span[1] <= end]
    assert len(inside) == 1, "a span of a multihop question lies in one paragraph"
    (section,) = [section for section in document.sections if section.par_start <= inside[0] < section.par_end]
    return section.path[:1]


def test_the_corpus_is_sound():
    assert verify(corpus()) == []
    assert all(item.kept for items in corpus().funnels.values() for item in items)


def test_articles():
    assert len(corpus().documents) >= 16
    for document in corpus().documents:
        assert 1_200 <= len(document.text.split()) <= 2_500, document.doc_id
        assert max(len(section.path) for section in document.sections) >= 3, document.doc_id
        assert document.title
        assert document.topic


def test_the_readme_counts_the_questions():
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    counted = Counter(query.type for query in corpus().queries)
    stated = {kind: int(n) for kind, n in re.findall(r"^\| (\w+) \| (\d+) \|", readme, re.MULTILINE)}
    assert stated == counted


def test_questions_are_of_all_types_and_on_all_articles():
    assert len(corpus().queries) >= 120
    assert {query.type for query in corpus().queries} == TYPES
    assert {query.doc_id for query in corpus().queries} == set(documents())
    assert max(Counter(query.query for query in corpus().queries).values()) == 1


@pytest.mark.parametrize("doc_id", sorted(documents()))
def test_no_question_leaks_its_evidence(doc_id):
    """Paper F: ROUGE-L F1 at most 0.35 and no shared 4-gram, against each evidence span."""
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
    text = documents()[doc_id].text
    for query in corpus().queries:
        if query.doc_id != doc_id:
            continue
        for span in query.spans:
            evidence = text[slice(*span)]
            assert scorer.score(evidence, query.query)["rougeL"].fmeasure <= 0.35, query.query
            assert not four_grams(query.query) & four_grams(evidence), query.query


def test_multihop_evidence_lies_in_two_top_level_sections():
    multihop = [query for query in corpus().queries if query.type == "multihop"]
    assert multihop
    for query in multihop:
        tops = {top_section(documents()[query.doc_id], span) for span in query.spans}
        assert len(query.spans) == len(tops) == 2, query.query


def test_structural_evidence_is_a_whole_top_level_section():
    for query in corpus().queries:
        if query.type == "structural":
            document = documents()[query.doc_id]
            wholes = [document.subtree(section.path) for section in document.sections if len(section.path) == 1]
            assert list(query.spans) in wholes, query.query


def test_underspecified_questions_do_not_name_the_title():
    for query in corpus().queries:
        if query.type == "underspecified":
            title = {word for word in words(documents()[query.doc_id].title) if len(word) > 3}
            assert not title & set(words(query.query)), query.query
