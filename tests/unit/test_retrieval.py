"""Retrieval stage: flat and two-stage against naive rankings, scopes, ties, and inputs that do not belong together."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docstructure.contracts.chunks import CHUNK_ID, CHUNKS
from docstructure.contracts.contract import ContractError
from docstructure.contracts.queries import QUERIES
from docstructure.contracts.query_vectors import QUERY_VECTORS
from docstructure.contracts.ranking import RANKING
from docstructure.contracts.routing import ROUTING
from docstructure.contracts.vectors import VECTORS
from docstructure.registry import KindError
from docstructure.retrieval import RETRIEVAL, flat, two_stage
from docstructure.retrieval.index import Index, Queries
from docstructure.retrieval.sections import section_index
from docstructure.retrieval.stage import RetrievalError, build_ranking
from docstructure.routing_sections import number_sections

WIDTH = 12


def unit(array):
    return (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)


def cut(sections):
    """Chunks of documents, from the top section and path of each chunk: {doc_id: [(top_section, path), ...]}."""
    rows = [
        {"doc_id": doc, "start": 10 * i, "end": 10 * i + 10, "n_tokens": 2, "path": path, "top_section": top}
        for doc, chunks in sections.items()
        for i, (top, path) in enumerate(chunks)
    ]
    types = {column.name: column.dtype for column in CHUNKS.columns if column.name != "chunk_id"}
    return pl.DataFrame(rows, schema=types).with_columns(chunk_id=CHUNK_ID).select(CHUNKS.names)


def sample(seed, n_documents=6, n_queries=7, copies=0.3):
    """A corpus of random sections with copied chunk vectors, and queries: chunks, vectors, queries, query vectors."""
    rng = np.random.default_rng(seed)
    sections = {}
    for i in rng.permutation(n_documents):
        tops = np.sort(rng.integers(0, 4, rng.integers(1, 9)))
        sections[f"d{i}é" if i % 2 else f"D{i}"] = [(int(t), [f"t{t}", f"s{rng.integers(0, 2)}"]) for t in tops]
    chunks = cut(sections)
    vectors = unit(rng.standard_normal((chunks.height, WIDTH)))
    for row in range(1, len(vectors)):
        if rng.random() < copies:
            vectors[row] = vectors[rng.integers(0, row)]
    docs = rng.choice(list(sections), n_queries)
    queries = pl.DataFrame({"query_id": [f"q{i}" for i in rng.permutation(n_queries)], "doc_id": docs})
    return chunks, vectors, queries, unit(rng.standard_normal((n_queries, WIDTH)))


def write(folder, chunks, vectors, queries, query_vectors):
    """Write the four inputs; return the stage's path arguments."""
    paths = {name: str(folder / f"{name}.parquet") for name in ("queries", "chunks", "vectors", "query_vectors")}
    CHUNKS.write(chunks, paths["chunks"])
    VECTORS.write(with_vectors(chunks.select("chunk_id"), vectors), paths["vectors"])
    QUERY_VECTORS.write(with_vectors(queries.select("query_id"), query_vectors), paths["query_vectors"])
    span = pl.lit([{"start": 0, "end": 1}], dtype=QUERIES.columns[-1].dtype)
    full = queries.with_columns(query=pl.lit("why?"), type=pl.lit("fact"), spans=span)
    QUERIES.write(full.sort("query_id"), paths["queries"])
    return paths | {"ranking": str(folder / "ranking.parquet"), "routing": str(folder / "routing.parquet")}


def with_vectors(ids, vectors):
    dtype = pl.Array(pl.Float32, vectors.shape[1])
    return ids.with_columns(vector=pl.Series(vectors, dtype=dtype) if len(vectors) else pl.lit(None, dtype))


def build(folder, corpus, definition, top_k=5, threads=1):
    paths = write(folder, *corpus)
    build_ranking(definition, top_k=top_k, threads=threads, **paths)
    return RANKING.read(paths["ranking"]), ROUTING.read(paths["routing"])


# Naive retrieval: dictionaries, Python floats and sorted()


def dot(a, b):
    terms = [float(x) * float(y) for x, y in zip(a, b, strict=True)]
    while len(terms) > 1:
        half = (len(terms) + 1) // 2
        terms = [term + (terms[half + i] if half + i < len(terms) else 0.0) for i, term in enumerate(terms[:half])]
    return terms[0]


def naive(corpus, top_k, scope, sections=None, section="top_level"):
    """Rankings {query_id: [(chunk_id, score, routed)]} and routings {query_id: [(doc_id, section, score)]}."""
    chunks, vectors, queries, query_vectors = corpus
    number, numbers = {}, {}
    for row in chunks.sort("doc_id", "start").iter_rows(named=True):
        key = row["top_section"] if section == "top_level" else tuple(row["path"])
        seen = numbers.setdefault(row["doc_id"], {})
        seen.setdefault(key, row["top_section"] if section == "top_level" else len(seen))
        number[row["chunk_id"]] = (row["doc_id"], seen[key])
    vector = dict(zip(chunks["chunk_id"], vectors, strict=True))
    centroid = {}
    for key in set(number.values()):
        total = np.zeros(WIDTH)
        members = sorted(chunk for chunk in number if number[chunk] == key)
        for chunk in members:
            total = total + vector[chunk]
        mean = total / len(members)
        centroid[key] = (mean / np.sqrt(dot(mean, mean))).astype(np.float32)
    rankings, routings = {}, {}
    for (query_id, doc_id), query in zip(queries.iter_rows(), query_vectors, strict=True):
        inside = [chunk for chunk in vector if scope == "corpus" or number[chunk][0] == doc_id]
        order = sorted(inside, key=lambda chunk: (-dot(query, vector[chunk]), chunk))
        keys = {number[chunk] for chunk in inside}
        kept = sorted(keys, key=lambda key: (-dot(query, centroid[key]), key))[: sections or 0]
        first = [chunk for chunk in order if number[chunk] in kept]
        rest = [chunk for chunk in order if number[chunk] not in kept]
        rankings[query_id] = [
            (chunk, np.float32(dot(query, vector[chunk])), chunk in first if sections else None)
            for chunk in [*first, *rest][:top_k]
        ]
        routings[query_id] = [(*key, np.float32(dot(query, centroid[key]))) for key in kept]
    return rankings, routings


def assert_naive(built, expected, queries):
    ranking, routing = built
    rankings, routings = expected
    order = {query_id: i for i, query_id in enumerate(queries["query_id"])}
    lines = [(q, r, *hit) for q, hits in rankings.items() for r, hit in enumerate(hits, 1)]
    assert ranking.rows() == sorted(lines, key=lambda line: (order[line[0]], line[1]))
    lines = [(q, r, *hit) for q, hits in routings.items() for r, hit in enumerate(hits, 1)]
    assert routing.rows() == sorted(lines, key=lambda line: (order[line[0]], line[1]))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), top_k=st.integers(1, 60), scope=st.sampled_from(["corpus", "document"]))
def test_flat_is_the_naive_ranking(tmp_path_factory, seed, top_k, scope):
    corpus = sample(seed)
    built = build(tmp_path_factory.mktemp("flat"), corpus, {"flat": {"scope": scope}}, top_k)
    assert_naive(built, naive(corpus, top_k, scope), corpus[2])
    assert built[1].height == 0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    top_k=st.integers(1, 60),
    scope=st.sampled_from(["corpus", "document"]),
    section=st.sampled_from(["top_level", "section"]),
    sections=st.integers(1, 6),
)
def test_two_stage_is_the_naive_ranking(tmp_path_factory, *, seed, top_k, scope, section, sections):
    corpus = sample(seed)
    definition = {"two_stage": {"sections": sections, "section": section, "scope": scope}}
    built = build(tmp_path_factory.mktemp("two"), corpus, definition, top_k)
    assert_naive(built, naive(corpus, top_k, scope, sections, section), corpus[2])


@pytest.mark.parametrize("kind", ["flat", "two_stage"])
@pytest.mark.parametrize("scope", ["corpus", "document"])
def test_files_depend_on_neither_threads_nor_the_order_of_rows(tmp_path, kind, scope):
    chunks, vectors, queries, query_vectors = sample(11, n_documents=20, n_queries=30)
    expected = build(tmp_path, (chunks, vectors, queries, query_vectors), {kind: {"scope": scope}}, 10)
    shuffle = np.random.default_rng(0).permutation(chunks.height)
    corpus = (chunks[shuffle], vectors[shuffle], queries, query_vectors)
    found = build(tmp_path, corpus, {kind: {"scope": scope}}, 10, threads=3)
    assert found[0].equals(expected[0])
    assert found[1].equals(expected[1])


@pytest.mark.parametrize(("scope", "size"), [("corpus", 5), ("document", 2)])
@pytest.mark.parametrize("kind", ["flat", "two_stage"])
def test_every_query_gets_its_scope_or_top_k(tmp_path, kind, scope, size):
    chunks = cut({"a": [(0, ["x"])] * 2, "b": [(0, ["x"])] * 3, "c": [(1, ["y"])] * 2})
    queries = pl.DataFrame({"query_id": ["q2", "q1"], "doc_id": ["c", "a"]})
    corpus = (chunks, unit(np.random.default_rng(1).standard_normal((7, WIDTH))), queries, unit(np.ones((2, WIDTH))))
    ranking, _ = build(tmp_path, corpus, {kind: {"scope": scope}}, 5)
    assert ranking["query_id"].to_list() == ["q2"] * size + ["q1"] * size
    assert ranking["rank"].to_list() == list(range(1, size + 1)) * 2
    assert ranking["routed"].null_count() == (2 * size if kind == "flat" else 0)


def test_equal_chunks_stand_by_chunk_id_in_code_point_order(tmp_path):
    names = ["b", "a", "é", "Z", "\U0001f600", "\uffff", "a:b", "a-b"]
    chunks = cut({name: [(0, ["x"])] * 2 for name in names})
    queries = pl.DataFrame({"query_id": ["q"], "doc_id": ["Z"]})
    corpus = (chunks, unit(np.ones((16, WIDTH))), queries, unit(np.ones((1, WIDTH))))
    ranking, _ = build(tmp_path, corpus, {"flat": {}}, 16)
    assert ranking["chunk_id"].to_list() == sorted(chunks["chunk_id"].to_list())
    assert ranking["score"].n_unique() == 1


def test_equal_sections_stand_by_document_and_number(tmp_path):
    chunks = cut({"b": [(10, ["k"]), (9, ["j"])], "a": [(2, ["i"]), (11, ["h"]), (0, ["g"])]})
    queries = pl.DataFrame({"query_id": ["q"], "doc_id": ["b"]})
    corpus = (chunks, unit(np.ones((5, WIDTH))), queries, unit(np.ones((1, WIDTH))))
    ranking, routing = build(tmp_path, corpus, {"two_stage": {"sections": 4}}, 5)
    assert routing.select("doc_id", "section").rows() == [("a", 0), ("a", 2), ("a", 11), ("b", 9)]
    assert ranking["routed"].to_list() == [True] * 4 + [False]
    assert ranking["chunk_id"][-1] == "b:000000000-000000010"


def test_backfill_comes_from_the_flat_ranking_and_is_marked(tmp_path):
    # Document a's section 0 has the best centroid; the best chunk of all is in section 1, spoiled by its neighbour.
    chunks = cut({"a": [(0, ["x"]), (0, ["x"]), (1, ["y"]), (1, ["y"])]})
    angle = np.radians([20, 25, 0, 170])
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    queries = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"]})
    ranking, routing = build(
        tmp_path, (chunks, vectors, queries, np.array([[1, 0]], np.float32)), {"two_stage": {"sections": 1}}, 3
    )
    assert routing["section"].to_list() == [0]
    assert [int(chunk.split(":")[1][:9]) // 10 for chunk in ranking["chunk_id"]] == [0, 1, 2]
    assert ranking["routed"].to_list() == [True, True, False]
    assert ranking["score"].to_list() == vectors[:3, 0].tolist()  # not monotone: backfill keeps its own score


def test_flat_and_two_stage_read_the_same_vectors(tmp_path):
    corpus = sample(4)
    scores = [
        build(tmp_path, corpus, {kind: {}}, 100)[0].sort("query_id", "chunk_id").select("query_id", "chunk_id", "score")
        for kind in ("flat", "two_stage")
    ]
    assert scores[0].equals(scores[1])


# Sections


def test_a_path_that_comes_back_is_the_same_section():
    chunks = cut({"a": [(0, ["x"]), (0, ["x", "y"]), (0, ["x"]), (1, [])], "b": [(0, ["x\u001fy"]), (0, ["x", "y"])]})
    assert number_sections(chunks, "section", "f").to_list() == [0, 1, 0, 2, 0, 1]
    assert number_sections(chunks, "top_level", "f").to_list() == [0, 0, 0, 1, 0, 0]
    assert number_sections(chunks[::-1], "section", "f").to_list() == [1, 0, 2, 0, 1, 0]


def test_centroids_are_unit_means_of_the_chunks():
    chunks, vectors, _, _ = sample(3, n_documents=9)
    order = chunks["chunk_id"].arg_sort()
    index = Index(chunks[order], vectors[order.to_numpy()], "f")
    sections, owner = section_index(index, "top_level")
    np.testing.assert_allclose(np.linalg.norm(sections.vectors, axis=1), 1, atol=1e-6)
    for row in range(sections.items.height):
        np.testing.assert_allclose(
            sections.vectors[row], unit(index.vectors[owner == row].mean(axis=0, dtype=np.float64)), atol=1e-7
        )
        assert (
            index.items.filter(owner == row)
            .select("doc_id", section="top_section")
            .unique()
            .equals(sections.items[row])
        )


def test_vectors_that_cancel_have_no_centroid(tmp_path):
    chunks, queries = cut({"a": [(3, ["x"])] * 2}), pl.DataFrame({"query_id": ["q"], "doc_id": ["a"]})
    vectors = np.stack([np.ones(WIDTH), -np.ones(WIDTH)]).astype(np.float32)
    with pytest.raises(ValueError, match="section 3 of document a cancel out"):
        build(tmp_path, (chunks, vectors, queries, unit(np.ones((1, WIDTH)))), {"two_stage": {}})


@pytest.mark.parametrize(("section", "column"), [("top_level", "top_section"), ("section", "path")])
def test_two_stage_on_windows_is_an_error_that_says_so(tmp_path, section, column):
    chunks, vectors, queries, query_vectors = sample(1)
    empty = [pl.lit(None, chunks.schema[name]).alias(name) for name in ("path", "top_section")]
    corpus = (chunks.with_columns(empty), vectors, queries, query_vectors)
    with pytest.raises(ValueError, match=rf"chunks.parquet: chunk \S+ has no {column} .*windows have no sections"):
        build(tmp_path, corpus, {"two_stage": {"section": section}})
    assert build(tmp_path, corpus, {"flat": {}})[0].height == 5 * queries.height


# Inputs that do not belong together


def spoil(folder, name, contract, change):
    """Write sound inputs, change one, and return the stage's arguments."""
    paths = write(folder, *sample(2))
    contract.write(change(contract.read(paths[name])), paths[name])
    return paths | {"top_k": 5, "threads": 1}


@pytest.mark.parametrize("kind", ["flat", "two_stage"])
@pytest.mark.parametrize(
    ("name", "contract", "change", "says"),
    [
        ("vectors", VECTORS, lambda f: f.head(0), r"/vectors.parquet: the index is empty"),
        (
            "vectors",
            VECTORS,
            lambda f: f.slice(1),
            r"/vectors.parquet: chunk {first} of .*chunks.parquet has no vector",
        ),
        ("chunks", CHUNKS, lambda f: f.slice(1), r"/vectors.parquet: chunk {first} is not in .*chunks.parquet"),
        ("vectors", VECTORS, lambda f: f.reverse(), r"/vectors.parquet: row 0 is chunk {last} where .* has {first}"),
        ("query_vectors", QUERY_VECTORS, lambda f: f.head(0), r"/query_vectors.parquet: there is no query"),
        ("queries", QUERIES, lambda f: f.slice(1), r"/query_vectors.parquet: query q0 is not in .*queries.parquet"),
        (
            "queries",
            QUERIES,
            lambda f: f.with_columns(doc_id=pl.lit("elsewhere")),
            r"document elsewhere of query q\d has no chunk in .*chunks.parquet",
        ),
        (
            "query_vectors",
            QUERY_VECTORS,
            lambda f: f.with_columns(pl.col("vector").arr.to_list().list.head(7).list.to_array(7)),
            r"/query_vectors.parquet: vectors have 7 dimensions, those of .*/vectors.parquet 12",
        ),
    ],
    ids=["empty", "missing", "extra", "order", "no-query", "unknown-query", "no-chunk", "width"],
)
def test_the_error_names_the_file_and_the_first_id(tmp_path, *, kind, name, contract, change, says):
    ids = sample(2)[0]["chunk_id"]
    arguments = spoil(tmp_path, name, contract, change)
    with pytest.raises(RetrievalError, match=says.format(first=ids[0], last=ids[-1])):
        build_ranking({kind: {}}, **arguments)
    assert not (tmp_path / "ranking.parquet").exists()


def test_a_vector_that_is_not_finite_is_refused_at_the_door(tmp_path):
    paths = write(tmp_path, *sample(2))
    frame = VECTORS.read(paths["vectors"])
    bad = frame["vector"].to_numpy().copy()
    bad[3, 1] = np.nan
    with_vectors(frame.select("chunk_id"), bad).write_parquet(paths["vectors"])
    with pytest.raises(ContractError, match=r"vectors.parquet \(vectors\): row 3: the vector is not finite"):
        build_ranking({"flat": {}}, top_k=5, threads=1, **paths)


@pytest.mark.parametrize(
    ("definition", "top_k", "error", "says"),
    [
        ({"flat": {}}, 0, ValueError, "top_k: 0 is below 1"),
        ({"flat": {"scope": "world"}}, 5, ValueError, "scope: 'world' is none of corpus, document"),
        ({"two_stage": {"scope": "world"}}, 5, ValueError, "scope: 'world' is none"),
        ({"two_stage": {"sections": 0}}, 5, ValueError, "sections: 0 is below 1"),
        ({"two_stage": {"section": "chapter"}}, 5, ValueError, "section: 'chapter' is none of top_level, section"),
        ({"bm25": {}}, 5, KindError, "one kind of flat, two_stage"),
        ({"flat": {"sections": 5}}, 5, KindError, "flat: unknown option sections"),
    ],
)
def test_options_are_checked(tmp_path, definition, top_k, error, says):
    with pytest.raises(error, match=says):
        build(tmp_path, sample(2), definition, top_k)


def test_options_default_to_the_paper():
    assert RETRIEVAL.resolve({"two_stage": {}})[0] == two_stage.Options(sections=5, section="top_level", scope="corpus")
    assert RETRIEVAL.resolve({"flat": None})[0] == flat.Options(scope="corpus")


def test_frames_in_memory_need_no_file():
    chunks, vectors, queries, query_vectors = sample(8)
    order = chunks["chunk_id"].arg_sort()
    index, asked = Index(chunks[order], vectors[order.to_numpy()], "f"), Queries(queries, query_vectors)
    ranking, routing = two_stage.rank(two_stage.Options(), index, asked, 4, 1)
    RANKING.check(ranking, "ranking")
    ROUTING.check(routing, "routing")
