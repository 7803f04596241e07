from pathlib import Path

import pytest

from docstructure.report.explorer import build_explorer
from docstructure.report.page import build_report
from tests.unit.explorer_run import EVIDENCE, write_explorer_run
from tests.unit.report_run import report_arguments

pytestmark = pytest.mark.browser

FIGURES = """[...document.querySelectorAll('svg')].map((svg) => {
  const box = svg.getBoundingClientRect();
  const drawn = [...svg.querySelectorAll('polygon, rect, path')].filter((it) => it.getBBox().width > 0).length;
  return {name: svg.getAttribute('aria-labelledby'), width: box.width, height: box.height, drawn};
})"""
# Words of a figure that leave it, or that lie over one another.
SPILT = """[...document.querySelectorAll('svg')].flatMap((svg) => {
  const view = svg.viewBox.baseVal;
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBBox();
    return box.x < -1 || box.y < -1 || box.x + box.width > view.width + 1 || box.y + box.height > view.height + 1;
  }).map((text) => svg.getAttribute('aria-labelledby') + ': ' + text.textContent);
})"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    explorer = write_explorer_run(folder / "explorer")
    report = {**report_arguments(folder / "run"), "explorers": {"wikipedia_fa": explorer["page"]}}
    build_explorer(**{**explorer, "report": report["page"]})
    build_report(**report)
    return {"report": report["page"], "explorer": explorer["page"]}


def own_requests_only(tab, page):
    return set(tab.requests) <= {Path(page).resolve().as_uri(), "data:,"}


def test_report_renders_every_figure_without_a_complaint(chromium, pages):
    with chromium.open(pages["report"]) as tab:
        figures = tab.ask(FIGURES)
        assert len(figures) >= 14
        for figure in figures:
            assert figure["width"] > 200, figure
            assert figure["height"] > 40, figure
            assert figure["drawn"] > 0, figure
        assert tab.ask(SPILT) == []
        assert tab.complaints == []
        assert own_requests_only(tab, pages["report"])


@pytest.mark.parametrize("width", [360, 800, 1600])
@pytest.mark.parametrize("name", ["report", "explorer"])
def test_pages_fit_any_width(chromium, pages, name, width):
    with chromium.open(pages[name], width=width) as tab:
        assert tab.ask("document.documentElement.scrollWidth") <= width
        assert tab.complaints == []


def test_report_needs_no_script(chromium, pages):
    with chromium.open(pages["report"]) as tab:
        tab.send("Emulation.setScriptExecutionDisabled", value=True)
        tab.navigate(Path(pages["report"]).resolve().as_uri())
        tab.send("Emulation.setScriptExecutionDisabled", value=False)
        assert tab.ask("document.querySelectorAll('svg').length") >= 14
        assert tab.ask("document.querySelectorAll('script').length") == 0


def test_report_prints(chromium, pages):
    with chromium.open(pages["report"]) as tab:
        pdf = tab.pdf()
        assert pdf.startswith(b"%PDF")
        tab.send("Emulation.setEmulatedMedia", media="print")
        assert tab.ask("getComputedStyle(document.querySelector('nav.contents')).display") == "none"
        assert all(figure["width"] > 100 for figure in tab.ask(FIGURES))


def test_unfit_run_says_so_first(chromium, tmp_path):
    arguments = report_arguments(tmp_path, extras=False, failing=("fixed: mean tokens match induced",))
    build_report(**arguments)
    with chromium.open(arguments["page"]) as tab:
        assert tab.ask("document.getElementById('verdict').getBoundingClientRect().bottom") < 700
        assert tab.ask("document.title").startswith("UNFIT")
        assert tab.complaints == []


def test_explorer_shows_both_rankings_and_runs_no_text(chromium, pages):
    with chromium.open(pages["explorer"]) as tab:
        assert tab.ask("document.querySelectorAll('#queries input').length") == len(EVIDENCE)
        assert tab.ask("document.querySelectorAll('.versus .side').length") == 2
        assert tab.ask("document.querySelectorAll('ol.ranks > li').length") == 10
        assert tab.ask("window.hacked") is None
        assert tab.ask("document.querySelectorAll('img, #app script').length") == 0
        assert "onerror" in tab.ask("document.getElementById('detail').textContent")
        assert tab.complaints == []
        assert own_requests_only(tab, pages["explorer"])


def test_explorer_marks_exactly_the_evidence(chromium, pages):
    with chromium.open(pages["explorer"]) as tab:
        for query_id, (_, phrase) in EVIDENCE.items():
            tab.ask(f"document.querySelector('#queries input[value={query_id}]').click()")
            assert tab.ask("document.querySelector('.evidence mark').textContent") == phrase
            for text in tab.ask("[...document.querySelectorAll('ol.ranks mark')].map((it) => it.textContent)"):
                assert text in phrase


def test_explorer_moves_by_keyboard_and_keeps_its_place(chromium, pages):
    with chromium.open(pages["explorer"]) as tab:
        tab.ask("document.querySelector('#queries input:checked').focus()")
        first = tab.ask("document.querySelector('#queries input:checked').value")
        tab.press("ArrowDown", 40)
        second = tab.ask("document.querySelector('#queries input:checked').value")
        assert second != first
        assert tab.ask("document.querySelector('#detail h2').textContent").startswith(second)
        assert tab.ask("location.hash") == f"#0/{second}"


def test_explorer_filters(chromium, pages):
    with chromium.open(pages["explorer"]) as tab:
        tab.ask(
            "(() => { const it = document.getElementById('search'); it.value = 'Tide'; "
            "it.dispatchEvent(new Event('input')); })()"
        )
        assert tab.ask("[...document.querySelectorAll('#queries input')].map((it) => it.value)") == ["q2"]
        tab.ask(
            "(() => { const it = document.getElementById('search'); it.value = 'nothing'; "
            "it.dispatchEvent(new Event('input')); })()"
        )
        assert "No query matches" in tab.ask("document.getElementById('detail').textContent")


def test_explorer_without_script_says_so(chromium, pages):
    with chromium.open(pages["explorer"]) as tab:
        tab.send("Emulation.setScriptExecutionDisabled", value=True)
        tab.navigate(Path(pages["explorer"]).resolve().as_uri())
        tab.send("Emulation.setScriptExecutionDisabled", value=False)
        assert "needs JavaScript" in tab.ask("document.querySelector('noscript').textContent")
