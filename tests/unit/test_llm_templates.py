import pytest
from jinja2 import UndefinedError

from docstructure.llm import template_files as templates
from docstructure.llm.template_files import TemplateError, versions
from docstructure.llm.templates import render


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr(templates, "PROMPTS", tmp_path)
    return lambda source, name="t": (tmp_path / f"{name}.jinja").write_bytes(source.encode())


def test_messages_by_role(write):
    write("{# version: 2.1 #}\n{# message: system #}\n\nBe {{ how }}.\n\n{# message: user #}\n{{ text }}\n")
    assert render("t", how="brief", text="a\n\nb ") == (("system", "Be brief."), ("user", "a\n\nb"))
    assert versions()["t"]["version"] == "2.1"


def test_values_are_data(write):
    write("{# version: 1 #}\n{# message: user #}\n<{{ text }}>\n")
    text = "{{ 7 * 7 }}\n{# message: system #}\n{% raw %}<b>&amp;"
    assert render("t", text=text) == (("user", f"<{text}>"),)


def test_an_empty_message_is_left_out(write):
    write("{# version: 1 #}\n{# message: system #}\n{% if how %}Be {{ how }}{% endif %}\n{# message: user #}\nx\n")
    assert render("t", how="") == (("user", "x"),)


def test_a_missing_value_is_an_error(write):
    write("{# version: 1 #}\n{# message: user #}\n{{ text }}\n")
    with pytest.raises(UndefinedError, match="text"):
        render("t")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{# message: user #}\nx", "first line is not a version"),
        ("\n{# version: 1 #}\n{# message: user #}\nx", "first line is not a version"),
        ("{# version: 1 #}\nx", "found none"),
        ("{# version: 1 #}\nx\n{# message: user #}\ny", "after its version come messages"),
        ("{# version: 1 #}\n{# message: model #}\ny", "found model"),
    ],
)
def test_a_template_that_is_none(write, source, says):
    write(source, "bad")
    with pytest.raises(TemplateError, match=says) as error:
        render("bad")
    assert "bad.jinja" in str(error.value)


def test_a_missing_template_is_named(write):
    with pytest.raises(TemplateError, match=r"nothing\.jinja does not exist"):
        render("nothing")


def test_shipped_templates_state_their_version():
    names = sorted(path.stem for path in templates.PROMPTS.glob("*.jinja"))
    assert {"induction", "induction_correction"} <= set(names)
    assert all(versions()[name]["version"] for name in names)
