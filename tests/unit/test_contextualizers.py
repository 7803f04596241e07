"""The stand-in contextualizer: title and first sentences, at most so many tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.chunking.chunk import Chunk, to_frame
from docstructure.contextualizers.lead import Options, lead
from docstructure.contextualizers.stage import build_contexts
from docstructure.contracts.chunks import CHUNKS
from docstructure.contracts.contexts import CONTEXTS
from docstructure.contracts.documents import DOCUMENTS
from tests.conftest import TOKENIZER
from tests.unit.chunking_cases import NASTY, assemble, nasty_cases, sentence, words


def lead_of(case, title, limit, tokenizer):
    return lead(title, case.text, case.paragraphs, limit, tokenizer, "en")


@given(case=nasty_cases, title=st.sampled_from(["", "Title", "A\nB ", *NASTY]), limit=st.integers(1, 80))
@settings(max_examples=100, deadline=None)
def test_a_lead_is_one_line_within_the_limit(tokenizer, case, title, limit):
    found = lead_of(case, title, limit, tokenizer)
    assert tokenizer.count(found) <= limit
    assert found == " ".join(found.split())


def test_a_lead_is_the_title_and_whole_sentences(tokenizer):
    case = assemble([(("A",), ["One cat. Two cats.\tThree", "Four cats."])])
    assert lead_of(case, " Cats\n", 80, tokenizer) == "Cats. One cat. Two cats. Three Four cats."
    assert lead_of(case, "Cats", 8, tokenizer) == "Cats. One cat. Two cats."[: len("Cats. One cat. Two cats.")]
    assert lead_of(case, "Cats", 7, tokenizer) == "Cats. One cat."
    assert lead_of(case, "", 3, tokenizer) == "One cat."


def test_a_first_sentence_that_does_not_fit_is_cut_between_words(tokenizer):
    case = assemble([(("A",), [words(200) + "."])])
    assert lead_of(case, "Cats!", 10, tokenizer) == "Cats! " + words(8)
    assert lead_of(case, words(99), 10, tokenizer) == words(10)


def test_repeated_first_sentences_are_kept_as_they_stand(tokenizer):
    case = assemble([(("A",), [sentence(5), sentence(5)])])
    assert lead_of(case, "T", 80, tokenizer) == f"T. {sentence(5)} {sentence(5)}"


def test_the_limit_is_validated():
    with pytest.raises(ValueError, match="max_tokens"):
        Options(0)


def test_every_chunk_has_a_row(tmp_path):
    rows = [("b", "Title", "One cat."), ("a", "", "\u200b"), ("unused", "x", "y")]
    documents = DOCUMENTS.frame(
        [
            {
                "doc_id": d,
                "title": t,
                "text": x,
                "paragraphs": [{"start": 0, "end": len(x)}],
                "source": None,
                "topic": None,
            }
            for d, t, x in rows
        ]
    )
    chunks = to_frame({"b": [Chunk(0, 3, 1), Chunk(3, 8, 2)], "a": [Chunk(0, 1, 0)]}, {"b": 8, "a": 1})
    DOCUMENTS.write(documents, tmp_path / "documents")
    CHUNKS.write(chunks, tmp_path / "chunks")
    build_contexts(
        definition={"lead": {"max_tokens": 4}},
        documents=str(tmp_path / "documents"),
        chunks=str(tmp_path / "chunks"),
        tokenizer=TOKENIZER,
        language="en",
        contexts=str(tmp_path / "contexts"),
    )
    found = CONTEXTS.read(tmp_path / "contexts")
    assert found["chunk_id"].to_list() == chunks["chunk_id"].to_list()
    assert found["context"].to_list() == ["Title. One", "Title. One", ""]
    assert found["n_tokens"].to_list() == [3, 3, 0]
    assert found["status"].to_list() == ["ok", "ok", "empty"]
