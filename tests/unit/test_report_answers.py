import pytest
from hypothesis import given
from hypothesis import strategies as st

from docstructure.report.answers import Finding, Inference, classify, find, overall
from docstructure.report.numbers import counted, fixed, general, interval, joined, p_relation, p_value, share, signed
from docstructure.report.treatments import describe, mechanism
from tests.unit.report_run import CONDITIONS, PAIRS, contrast_rows, provenance

INFERENCE = Inference(alpha=0.05, bootstrap_iters=10000)


def row(**changes):
    first = next(iter(contrast_rows("wikipedia_fa")))
    return {**first, "corpus": "wikipedia_fa", **changes}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "higher"),
        ({"delta": -0.02, "ci_low": -0.04, "ci_high": -0.01}, "lower"),
        ({"p_holm": 0.05}, "suggestive"),
        ({"p_holm": 0.3, "ci_low": -0.01}, "undetected"),
        ({"status": "A1 was not asked for", "delta": None}, "untested"),
        # the corrected p decides, not the bare one
        ({"p": 0.001, "p_holm": 0.06, "ci_low": -0.001}, "undetected"),
        # outside the family the bare one does
        ({"p": 0.001, "p_holm": None, "family_size": None}, "higher"),
    ],
)
def test_verdict_follows_from_the_row(changes, verdict):
    assert classify(row(**changes), INFERENCE) == verdict


def test_unadjusted_p_is_called_so():
    said = find(row(p=0.001, p_holm=None, family_size=None), INFERENCE, None, None).sentence
    assert "unadjusted p = 0.0010" in said


def test_undetected_says_what_is_excluded_and_what_not():
    said = find(row(delta=0.001, ci_low=-0.002, ci_high=0.0043, p_holm=0.5), INFERENCE, 0.4, 0.0045).sentence
    assert "cannot be told apart" in said
    assert "beyond ±0.0043 is unlikely" in said
    assert "In a single test, before any correction, this corpus detects 0.0045 reliably" in said


def test_relative_size_is_of_the_subtrahend():
    said = find(row(delta=0.02), INFERENCE, 0.4, None).sentence
    assert "5.0 % of A1's mean of 0.400" in said


@given(st.lists(st.sampled_from(["higher", "lower", "undetected", "suggestive", "untested"]), min_size=1, max_size=5))
def test_overall_names_every_tested_corpus_once(verdicts):
    findings = [Finding(f"corpus{index}", verdict, "") for index, verdict in enumerate(verdicts)]
    said = overall(findings, ("A3", "A1"))
    for finding in findings:
        assert said.count(finding.corpus) == (0 if finding.verdict == "untested" else 1)
    assert said.startswith("It depends") == (len({v for v in verdicts if v != "untested"}) > 1)


def test_mechanisms_are_told_by_what_differs():
    parts = {name: provenance("qasper", name)["definitions"] for name in CONDITIONS}
    titles = {name: mechanism(parts[a], parts[b])[0] for name, (a, b) in PAIRS.items()}
    assert titles == {
        "C1": "Structure against generated context",
        "C2": "Content of the heading path",
        "C3": "Source of the structure",
        "C4": "Two-stage routing",
    }
    assert mechanism(parts["A2"], parts["A0"])[0] == "Structural boundaries"
    assert mechanism(parts["A3"], parts["A2"])[0] == "Heading path"
    assert mechanism(parts["A3"], None)[0] == "Contrast"
    # prefix and retrieval change together: no mechanism may be claimed
    assert mechanism(parts["A4"], parts["A2"])[0] == "Contrast"


def test_stand_ins_are_described_as_what_they_are():
    parts = provenance("demo", "A3")["definitions"]
    parts = {**parts, "boundaries": {"sections": {"structure": "texttiling"}}, "structure": {"texttiling": {}}}
    assert describe(parts) == "sections by texttiling, heading path (depth 3)"


def test_numbers_as_people_read_them():
    assert signed(-0.0326) == "−0.0326"
    assert signed(0.0218) == "+0.0218"
    assert signed(-0.00001) == "0.0000"
    assert signed(None) == signed(float("nan")) == "n/a"
    assert interval(-0.002, 0.0043) == "[−0.0020, +0.0043]"
    assert p_value(0.0, 0.0002) == "< 0.0002"
    assert p_relation(0.0172, 0.0002) == "= 0.0172"
    assert p_value(None, 0.0002) == "n/a"
    assert share(0.789) == "78.9 %"
    assert general(1508) == "1,508"
    assert general(True) == "yes"
    assert general(0.00012345) == "0.0001234" or general(0.00012345) == "0.0001235"
    assert counted(1, "query", "queries") == "1 query"
    assert counted(4303, "query", "queries") == "4,303 queries"
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a, b and c"


@given(st.floats(-1, 1), st.integers(0, 6))
def test_fixed_reads_back_within_half_a_unit(value, digits):
    assert float(fixed(value, digits).replace("−", "-")) == pytest.approx(value, abs=0.5 * 10**-digits + 1e-12)
