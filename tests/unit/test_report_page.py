import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.contracts.contrasts import CONTRASTS
from docstructure.report.page import build_report
from docstructure.report.sources import SourcesError
from tests.unit.report_run import (
    HOSTILE,
    PAIRS,
    TESTS,
    contrast_rows,
    report_arguments,
    untested,
    write_corpus,
)


class Page(HTMLParser):
    """What a browser would see: the tags with their attributes, and the text of each element with an id."""

    VOID = frozenset({"meta", "link", "br", "input"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.texts = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, name in self.open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data


def build(folder, **options):
    arguments = report_arguments(folder, **options)
    build_report(**arguments)
    return Path(arguments["page"]).read_text(encoding="utf-8"), arguments


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    text, arguments = build(tmp_path_factory.mktemp("full"))
    return Page(text), text, arguments


def words(page, name):
    return re.sub(r"\s+", " ", page.texts[name])


def test_contrasts_say_what_the_artifacts_say(full):
    page, _, arguments = full
    for corpus, paths in arguments["corpora"].items():
        for row in CONTRASTS.read(paths["contrasts"]).filter("confirmatory").iter_rows(named=True):
            card = words(page, f"answer-{row['contrast']}")
            assert f"{abs(row['delta']):.4f}" in card
            for end in ("ci_low", "ci_high"):
                assert f"{row[end]:+.4f}".replace("-", "−") in card
            assert f"{row['n_queries']:,} queries on {row['n_documents']:,} documents" in card
            assert corpus in card


def test_answers_follow_from_sign_and_significance(full):
    page = full[0]
    assert "Yes: A3 beats A1 on wikipedia_fa and qasper" in words(page, "answer-C1")
    assert "It depends on the corpus: G3 beats A3 on wikipedia_fa; no difference detected on qasper" in words(
        page, "answer-C3"
    )
    assert "No: A4 does worse than A3 on wikipedia_fa and qasper" in words(page, "answer-C4")
    assert "Content of the heading path" in words(page, "answer-C2")
    assert "Two-stage routing" in words(page, "answer-C4")


def test_p_of_zero_is_printed_as_what_the_replicates_can_tell(full):
    page = full[0]
    assert "Holm-adjusted p < 0.0008" in words(page, "answer-C4")
    assert TESTS["qasper"]["C4"][3] == 0
    assert "p = 0.0000" not in full[1]


def test_nothing_is_loaded_from_elsewhere(full):
    page, text, _ = full
    for tag, attrs in page.tags:
        assert tag not in {"script", "iframe", "img", "object", "embed"}
        assert tag != "link" or attrs["href"] == "data:,"
    assert "@import" not in text
    assert "url(" not in text


def test_ids_are_unique_and_links_lead_somewhere(full):
    page, _, arguments = full
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    folder = Path(arguments["page"]).parent
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert any(link.endswith(".csv") for link in links)
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (folder / link).is_file(), link


def test_every_figure_is_named_and_described(full):
    page = full[0]
    figures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(figures) > 10
    for figure in figures:
        assert figure["role"] == "img"
        for name in figure["aria-labelledby"].split():
            assert page.texts[name].strip()


def test_texts_of_the_run_are_escaped(full):
    _, text, _ = full
    assert "alert(1)" in text
    assert HOSTILE not in text
    assert "<script" not in text


def test_tables_hold_all_rows_of_all_corpora(full):
    _, _, arguments = full
    folder = Path(arguments["tables"])
    table = pl.read_parquet(folder / "contrasts.parquet")
    parts = [CONTRASTS.read(paths["contrasts"]) for paths in arguments["corpora"].values()]
    assert table.drop("corpus").equals(pl.concat(parts))
    assert pl.read_csv(folder / "contrasts.csv").height == table.height
    assert "A2; A3-d1; A3-d2; A3" in (folder / "dose_response.csv").read_text(encoding="utf-8")


def test_fit_run_is_called_fit(full):
    page = full[0]
    assert "Fit: all 8 design invariants hold" in words(page, "verdict")
    assert ("div", {"class": "verdict unfit", "role": "status", "id": "verdict"}) not in page.tags


def test_failed_invariant_marks_the_run_unfit_at_the_top(tmp_path):
    name = "fixed: mean tokens match induced"
    text, _ = build(tmp_path, extras=False, failing=(name,))
    page = Page(text)
    verdict = words(page, "verdict")
    assert "UNFIT: 2 design invariants of 8 do not hold on wikipedia_fa and qasper" in verdict
    assert f"wikipedia_fa: {name}: 10, limit 5" in verdict
    assert text.index('id="verdict"') < text.index('id="answers"')
    assert "<title>UNFIT" in text
    rows = re.findall(
        r'<tr( class="failed")?><td>(?:wikipedia_fa|qasper)</td><td>[^<]*</td>', text[text.index('id="audit"') :]
    )
    failed = [bool(row) for row in rows[:8]]
    assert failed == sorted(failed, reverse=True)
    assert sum(failed) == 2


def test_missing_artifacts_become_sentences(tmp_path):
    text, _ = build(tmp_path, extras=False)
    page = Page(text)
    for panel in ("depth", "budget", "types", "routing", "power", "placebo", "noise", "funnel"):
        assert "was not made for wikipedia_fa and qasper" in words(page, panel)
    assert words(page, "registration-warning").count("unknown") == 2
    assert "No number of the paper was compared" in words(page, "replication")
    assert "Not made in this run: dose_response" in re.sub(r"\s+", " ", text)


def test_one_corpus_without_an_artifact_does_not_hide_the_other(tmp_path):
    arguments = report_arguments(tmp_path)
    del arguments["corpora"]["qasper"]["budget"]
    build_report(**arguments)
    page = Page(Path(arguments["page"]).read_text(encoding="utf-8"))
    assert "The budget curve was not made for qasper." in words(page, "budget")
    assert any(tag == "svg" and attrs["aria-labelledby"].startswith("budget-0") for tag, attrs in page.tags)


def test_untested_contrast_has_its_reason_and_no_number(tmp_path):
    reason = "G3: corpus wikipedia_fa declares no structure gold"
    rows = [untested(row, reason) if row["contrast"] == "C3" else row for row in contrast_rows("wikipedia_fa")]
    arguments = report_arguments(tmp_path, corpora=("wikipedia_fa",), extras=False)
    arguments["corpora"] = {"wikipedia_fa": write_corpus(tmp_path, "wikipedia_fa", extras=False, contrasts=rows)}
    build_report(**arguments)
    page = Page(Path(arguments["page"]).read_text(encoding="utf-8"))
    assert f"G3 − A3 was not tested: {reason}" in words(page, "answer-C3")
    assert "Not tested" in words(page, "answer-C3")


def test_changed_registration_is_shown_at_the_top(tmp_path):
    text, _ = build(tmp_path, changed=True)
    said = words(Page(text), "registration-warning")
    assert "cell.metric: cov_ndcg@10 -> mrr" in said
    assert "66 score files existed" in said
    assert text.index('id="registration-warning"') < text.index('id="answers"')


def test_replication_stands_beside_each_contrast(full):
    page = full[0]
    assert "paper, qasper: +0.0115; −0.0115 on qasper: different" in words(page, "answer-C1")
    assert "3 within tolerance, 1 different" in words(page, "replication")


def test_each_cell_has_its_command(full):
    _, text, arguments = full
    for cell in arguments["cells"]:
        assert f"snakemake --profile profiles/local --configfile config/config.yaml -- {cell['scores']}" in text


def test_cells_of_different_commits_are_pointed_out(tmp_path):
    arguments = report_arguments(tmp_path, extras=False)
    path = Path(arguments["cells"][0]["provenance"])
    path.write_text(path.read_text(encoding="utf-8").replace("f" * 40, "e" * 40), encoding="utf-8")
    build_report(**arguments)
    text = Path(arguments["page"]).read_text(encoding="utf-8")
    assert "not all made by the same code" in text
    assert f"{'e' * 40} (1)" in text


def test_cells_of_different_code_are_pointed_out(tmp_path):
    arguments = report_arguments(tmp_path, extras=False)
    path = Path(arguments["cells"][0]["provenance"])
    path.write_text(path.read_text(encoding="utf-8").replace("0123456789abcdef", "fedcba9876543210"), encoding="utf-8")
    build_report(**arguments)
    assert "not all made by the same code" in Path(arguments["page"]).read_text(encoding="utf-8")


def test_broken_provenance_names_the_file(tmp_path):
    arguments = report_arguments(tmp_path, extras=False)
    path = Path(arguments["cells"][0]["provenance"])
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        build_report(**arguments)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda paths: paths.pop("means"), "the report needs means"),
        (lambda paths: paths.update(bugdet="x"), "bugdet is no artifact"),
    ],
)
def test_unknown_and_missing_artifacts_are_named(tmp_path, change, says):
    arguments = report_arguments(tmp_path, extras=False)
    change(arguments["corpora"]["qasper"])
    with pytest.raises(SourcesError, match=says):
        build_report(**arguments)


def test_stale_tables_go(tmp_path):
    arguments = report_arguments(tmp_path, extras=False)
    stale = Path(arguments["tables"]) / "noise.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("old", encoding="utf-8")
    build_report(**arguments)
    assert not stale.exists()


@given(st.text(max_size=40))
def test_any_text_of_a_run_stays_text(text):
    from docstructure.report.panel import Panel, tabulate
    from docstructure.report.svg import Canvas

    canvas = Canvas("x", 10, 10, text, text)
    canvas.text((0, 0), text)
    canvas.box((0, 0), (1, 1), "kept", text)
    tags = [tag for tag, _ in Page(canvas.render()).tags]
    assert set(tags) <= {"svg", "title", "desc", "text", "rect"}
    assert Panel("x", text, tables=[tabulate(pl.DataFrame({"a": [text]}), text)]).tables[0].rows == ((text,),)


def test_exploratory_contrasts_stand_apart_and_are_stamped(full):
    page = full[0]
    assert "answer-E1" not in page.texts
    said = words(page, "exploratory")
    assert "exploratory" in said
    assert "E1: A2 − A0 · Structural boundaries" in said
    assert "E1" not in words(page, "contrasts")


def test_pairs_of_the_run_are_the_registered_ones(full):
    assert [name for name in full[0].texts if name.startswith("answer-")] == [f"answer-{name}" for name in PAIRS]
