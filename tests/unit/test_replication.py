"""Verdicts on the paper's numbers: its own fed back in, one changed, and other corpora."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml

from docstructure.contracts.means import MEANS
from docstructure.contracts.replication import REPLICATION, VERDICTS
from docstructure.replication.expected import ExpectedError, Number, load
from docstructure.replication.run import QUANTITIES
from docstructure.replication.stage import CONTRACTS, build_replication, replicate
from tests.unit.paper_run import PaperRun, filled

EXPECTED = str(Path(__file__).parents[2] / "resources" / "expected.yaml")
PAPER = load(EXPECTED)
CELL = {"metric": "cov_ndcg@10", "embedder": PAPER.roles["embedders"]["strong"], "reranker": "none"}
CORPORA = ("wikipedia_fa", "qasper")
WITHIN, SAME, DIFFERENT, NOT_MEASURED = VERDICTS


def verdicts(run, corpus=None, cell=CELL):
    rows = replicate(PAPER, corpus or run.corpus, cell, run.tables())
    return {row["id"]: row["verdict"] for row in rows}


def others(found, verdict=WITHIN):
    return {name: value for name, value in found.items() if value != verdict}


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_papers_own_numbers_are_all_within_tolerance(corpus):
    found = verdicts(PaperRun(PAPER, corpus))
    assert len(found) == sum(number.corpus == corpus for number in PAPER.numbers) > 70
    assert not others(found)


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("contrast", ["C1", "C2", "C3", "C4"])
def test_one_flipped_sign_is_exactly_one_different(corpus, contrast):
    run = PaperRun(PAPER, corpus)
    run.contrasts[contrast, "none"]["delta"] *= -1
    expected = {f"t1.{contrast}.delta.{corpus}": DIFFERENT}
    if (contrast, corpus) == ("C3", "qasper"):  # the paper claims no effect here, of either sign
        expected = {}
    assert others(verdicts(run)) == expected


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_flipped_slope_or_type_that_the_paper_claims_is_different(corpus):
    claimed = [n for n in PAPER.numbers if n.corpus == corpus and n.claim == "effect"]
    for number in claimed:
        run = PaperRun(PAPER, corpus)
        if number.quantity == "slope":
            run.slopes[number.embedder]["slope"] *= -1
        elif number.quantity == "type_delta":
            run.types[number.subject] *= -1
        else:
            continue
        assert others(verdicts(run)) == {number.id: DIFFERENT}
    assert {"slope", "type_delta"} <= {number.quantity for number in claimed}


def test_an_effect_of_another_size_has_the_same_sign_and_significance():
    run = PaperRun(PAPER, "wikipedia_fa")
    run.contrasts["C1", "none"]["delta"] = 0.09
    assert others(verdicts(run)) == {"t1.C1.delta.wikipedia_fa": SAME}
    run.contrasts["C1", "none"]["p_holm"] = 0.2
    assert others(verdicts(run)) == {"t1.C1.delta.wikipedia_fa": DIFFERENT, "t1.C1.p_holm.wikipedia_fa": DIFFERENT}


def test_a_null_effect_that_turns_significant_is_different():
    run = PaperRun(PAPER, "qasper")
    run.contrasts["C3", "none"] |= {"delta": 0.02, "p_holm": 0.001}
    found = others(verdicts(run))
    assert found["t1.C3.delta.qasper"] == found["t1.C3.p_holm.qasper"] == DIFFERENT
    run.contrasts["C3", "none"]["p_holm"] = 0.5
    assert others(verdicts(run)) == {"t1.C3.delta.qasper": SAME}


def test_an_upper_bound_of_p_is_kept_or_not():
    run = PaperRun(PAPER, "qasper")
    for p, verdict in ((0.0, WITHIN), (0.02, SAME), (0.3, DIFFERENT)):
        run.contrasts["C2", "none"]["p_mixedlm"] = p
        assert verdicts(run)["t1.C2.p_mixedlm.qasper"] == verdict


def test_a_step_is_judged_by_its_exploratory_contrast_where_there_is_one():
    run = PaperRun(PAPER, "wikipedia_fa")
    run.means["A2", "strong", "none", "cov_ndcg@10"] = 0.430  # in its own tolerance, A2 - A0 in its own too
    run.means["A3", "strong", "none", "cov_ndcg@10"] = 0.441
    run.means["P", "strong", "none", "cov_ndcg@10"] = 0.390  # P - A2 is -0.04 where the paper has none
    step = "s63.P-A2.wikipedia_fa"
    assert verdicts(run)[step] == DIFFERENT
    tables = run.tables()
    row = tables["contrasts"].head(1).with_columns(contrast=pl.lit("E1"), minuend=pl.lit("P"), subtrahend=pl.lit("A2"))
    for p, verdict in ((0.4, SAME), (0.01, DIFFERENT)):
        tables["contrasts"] = pl.concat([run.tables()["contrasts"], row.with_columns(p=pl.lit(p))])
        rows = {row["id"]: row for row in replicate(PAPER, "wikipedia_fa", CELL, tables)}
        assert rows[step]["verdict"] == verdict
        assert rows[step]["note"] == f"contrast E1, p {p} (unadjusted)"


def test_means_have_the_sampling_error_of_their_queries():
    run = PaperRun(PAPER, "qasper")
    key = ("G2", "strong", "none", "cov_ndcg@10")
    for value, verdict in (
        (0.120 + 0.0095, WITHIN),
        (0.120 + 0.0115, DIFFERENT),
    ):  # 1.96 sqrt(.12 · .88 / 4303) = .0097
        run.means[key] = value
        assert verdicts(run)["t2.G2.qasper"] == verdict


def test_what_was_not_run_is_not_measured():
    run = PaperRun(PAPER, "qasper")
    tables = run.tables()
    rows = replicate(PAPER, "qasper", CELL, {"means": tables["means"]})
    found = Counter(row["verdict"] for row in rows)
    assert set(found) == {WITHIN, NOT_MEASURED}
    assert all(row["note"] for row in rows if row["verdict"] == NOT_MEASURED)
    assert all(row["measured"] is None for row in rows if row["verdict"] == NOT_MEASURED)


def test_another_corpus_is_compared_by_direction_beside_both_of_the_paper():
    run = PaperRun(PAPER, "wikipedia_fa")
    rows = replicate(PAPER, "mine", CELL, run.tables())
    assert {row["tolerance"] for row in rows} == {None}
    assert {row["quantity"] for row in rows} == {"delta", "difference", "slope"}
    found = {row["id"]: row["verdict"] for row in rows if row["quantity"] == "delta"}
    # its numbers are Wikipedia's: all agree with it, and with QASPER all but C3, which is null there
    assert [found[f"t1.C{n}.delta.wikipedia_fa"] for n in range(1, 5)] == [SAME] * 4
    assert [found[f"t1.C{n}.delta.qasper"] for n in range(1, 5)] == [SAME, SAME, DIFFERENT, SAME]


def test_the_papers_corpus_under_another_embedder_is_compared_by_direction_only():
    run = PaperRun(PAPER, "qasper")
    other = CELL | {"embedder": "mini"}
    tables = run.tables()
    strong = PAPER.roles["embedders"]["strong"]
    for name in ("contrasts", "means", "dose_response", "per_type"):
        tables[name] = tables[name].with_columns(embedder=tables[name]["embedder"].replace(strong, "mini"))
    rows = replicate(PAPER, "qasper", other, tables)
    assert {row["paper_corpus"] for row in rows} == {"qasper"}
    by_kind = {bool(row["embedder"]): set() for row in rows}
    for row in rows:
        by_kind[bool(row["embedder"])].add(row["tolerance"] is None)
    # diagnostics know no embedder: they are compared as ever
    assert by_kind == {True: {True}, False: {False}}
    assert {row["verdict"] for row in rows if row["quantity"] == "delta" and row["reranker"] == "none"} == {SAME}


@pytest.mark.parametrize("corpus", CORPORA)
def test_section_recall_is_of_the_papers_cells_alone(corpus):
    run = PaperRun(PAPER, corpus)
    place = {"metric": "section_recall", "reranker": "none"}
    before = {row["id"]: row for row in replicate(PAPER, corpus, CELL, run.tables())}
    extra = [
        {"condition": "A4", "embedder": "mini", "mean": 0.01},
        {"condition": "G4", "embedder": "mini", "mean": 0.99},
        {"condition": "X4", "embedder": CELL["embedder"], "mean": 0.01},
        {"condition": "X5", "embedder": CELL["embedder"], "mean": 0.99},
    ]
    tables = run.tables()
    tables["means"] = pl.concat([tables["means"], MEANS.frame([filled(MEANS, place | row) for row in extra])])
    after = {row["id"]: row for row in replicate(PAPER, corpus, CELL, tables)}
    for end in ("min", "max"):
        name = f"s64.section_recall.{end}.{corpus}"
        assert after[name] == before[name]
        assert after[name]["verdict"] == WITHIN


def test_section_recall_is_over_both_embedders_of_the_paper():
    run = PaperRun(PAPER, "qasper")
    run.means["A4", "weak", "none", "section_recall"] = 0.05
    found = {row["id"]: row for row in replicate(PAPER, "qasper", CELL, run.tables())}
    assert found["s64.section_recall.min.qasper"]["measured"] == 0.05
    assert found["s64.section_recall.min.qasper"]["verdict"] == DIFFERENT


def test_section_recall_is_not_compared_under_another_embedder():
    tables = PaperRun(PAPER, "qasper").tables()
    strong = PAPER.roles["embedders"]["strong"]
    tables["means"] = tables["means"].with_columns(embedder=tables["means"]["embedder"].replace(strong, "mini"))
    rows = replicate(PAPER, "qasper", CELL | {"embedder": "mini"}, tables)
    assert not [row["id"] for row in rows if row["quantity"].startswith("section_recall")]


def test_the_papers_conditions_are_those_of_the_shipped_study():
    config = yaml.safe_load((Path(EXPECTED).parents[1] / "config" / "config.yaml").read_text())
    assert set(PAPER.conditions) == set(config["conditions"])


def test_a_condition_that_the_paper_has_not_changes_no_gain():
    run = PaperRun(PAPER, "qasper")
    before = [row for row in replicate(PAPER, "qasper", CELL, run.tables()) if row["quantity"].startswith("gain")]
    for reranker, mean in (("none", 0.1), ("cross_encoder", 0.9)):
        run.means["X", "strong", reranker, "cov_ndcg@10"] = mean
    after = [row for row in replicate(PAPER, "qasper", CELL, run.tables()) if row["quantity"].startswith("gain")]
    assert after == before
    assert {row["verdict"] for row in after} == {WITHIN}


def test_every_tolerance_has_a_reason_and_holds_what_the_paper_prints():
    for corpus in CORPORA:
        for row in replicate(PAPER, corpus, CELL, {}):
            assert len(row["reason"]) > 10
            assert row["tolerance"] >= 0


def test_the_list_is_complete_for_the_tables():
    """Counted by hand in the paper: 8 rows of Table 1, 18 means, 6 topics, two rows of Tables 9 and 10."""
    by_source = Counter(number.source for number in PAPER.numbers)
    assert by_source["Table 1"] == 8 * 6
    assert by_source["Table 2"] == 2 * 9
    assert by_source["Table 8"] == 6 * 2
    assert by_source["Table 9"] == 2 * 4 + 1
    assert by_source["Table 10"] == 2
    assert sum(n.value for n in PAPER.numbers if n.source == "Table 8" and n.quantity == "n_documents") == 200


def test_every_number_can_be_looked_up():
    for number in PAPER.numbers:
        if number.table:
            columns = CONTRACTS[number.table].names
            assert number.quantity in columns, number.id
            assert set(number.where) <= set(columns), number.id
        else:
            assert number.quantity in QUANTITIES, number.id


def test_the_stage_reads_and_writes_by_contract(tmp_path):
    tables = {}
    for name, frame in PaperRun(PAPER, "qasper").tables().items():
        tables[name] = str(tmp_path / name)
        frame.write_parquet(tables[name])
    tables.pop("funnel_summary")
    tables.pop("structure_summary")
    table = tmp_path / "replication.parquet"
    build_replication(expected=EXPECTED, corpus="qasper", cell=CELL, tables=tables, table=str(table))
    found = Counter(REPLICATION.read(table)["verdict"])
    assert set(found) == {WITHIN, NOT_MEASURED}
    with pytest.raises(ValueError, match="table audit is not compared"):
        build_replication(expected=EXPECTED, corpus="qasper", cell=CELL, tables={"audit": "x"}, table=str(table))


def good(**changes):
    entry = {
        "id": "x",
        "source": "Table 1",
        "corpus": "qasper",
        "quantity": "mean",
        "subject": "A0",
        "value": 0.1,
        "unit": 0.001,
        "tolerance": {"share": {"n": 10}},
    }
    return entry | changes


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tolerance": {"guess": {}}}, "is not one rule of"),
        ({"tolerance": {}}, "is not one rule of"),
        ({"bound": "about"}, "bound 'about'"),
        ({"claim": "yes"}, "claim 'yes'"),
        ({"unit": 0}, "unit is 0"),
        ({"page": 3}, "unknown key page"),
    ],
)
def test_an_unsound_list_is_refused_with_the_number(tmp_path, changes, says):
    path = tmp_path / "expected.yaml"
    path.write_text(yaml.safe_dump({"roles": {}, "numbers": [good(**changes)]}))
    with pytest.raises(ExpectedError, match=f"x: {says}|x: .*{says}"):
        load(str(path))


def test_a_number_stands_once(tmp_path):
    path = tmp_path / "expected.yaml"
    path.write_text(yaml.safe_dump({"roles": {}, "numbers": [good(), good()]}))
    with pytest.raises(ExpectedError, match="x stands twice"):
        load(str(path))
    assert Number(**good()).bound == "exactly"
