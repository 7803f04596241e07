"""The fingerprint covers exactly the import closure of a script and of the kinds that it resolves by name."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docstructure import fingerprint as module
from docstructure.fingerprint import SCRIPTS, closure, fingerprint


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A small library in place of ours."""
    files = {
        "job.py": "from docstructure.stage import run\n",
        "other.py": "import docstructure.leaf\n",
        "docstructure/__init__.py": "",
        "docstructure/stage.py": "def run():\n    from docstructure.kinds import KINDS\n",
        "docstructure/kinds/__init__.py": "KINDS = {'a': 'docstructure.kinds.a'}\n",
        "docstructure/kinds/a.py": "from docstructure import leaf\n",
        "docstructure/kinds/b.py": "x = 1\n",
        "docstructure/leaf.py": "import json\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(module, "SCRIPTS", tmp_path)
    clear()
    yield tmp_path
    clear()


def clear():
    for function in (module.closure, module._bytes, module._imports, module._locate):
        function.cache_clear()


def names(files, root):
    return {file.relative_to(root).as_posix() for file in files}


def test_closure_follows_lazy_imports_and_packages(scripts):
    assert names(closure("job.py"), scripts) == {
        "job.py",
        "docstructure/__init__.py",
        "docstructure/stage.py",
        "docstructure/kinds/__init__.py",
    }


def test_a_kind_adds_its_own_closure(scripts):
    with_kind = names(closure("job.py", "docstructure.kinds.a"), scripts)
    assert with_kind - names(closure("job.py"), scripts) == {"docstructure/kinds/a.py", "docstructure/leaf.py"}


def test_an_edit_changes_what_imports_it_and_nothing_else(scripts):
    before = {key: fingerprint(*key) for key in [("job.py",), ("job.py", "docstructure.kinds.a"), ("other.py",)]}
    (scripts / "docstructure/leaf.py").write_text("import json  # edited\n")
    clear()
    after = {key: fingerprint(*key) for key in before}
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {("job.py", "docstructure.kinds.a"), ("other.py",)}


def test_digests_cover_every_file_kinds_resolved_by_name_included(scripts):
    before = module.digests()
    assert set(before) == {"scripts", "__init__", "stage", "kinds", "leaf"}
    (scripts / "docstructure/kinds/b.py").write_text("x = 2\n")
    clear()
    after = module.digests()
    assert {unit for unit in before if before[unit] != after[unit]} == {"kinds"}


def test_touching_and_moving_change_nothing(scripts, tmp_path_factory, monkeypatch):
    before = fingerprint("job.py", "docstructure.kinds.a")
    moved = tmp_path_factory.mktemp("moved") / "scripts"
    shutil.copytree(scripts, moved)
    (moved / "docstructure/leaf.py").touch()
    monkeypatch.setattr(module, "SCRIPTS", moved)
    clear()
    assert fingerprint("job.py", "docstructure.kinds.a") == before


def test_relative_imports_are_refused(scripts):
    (scripts / "docstructure/stage.py").write_text("from .leaf import x\n")
    clear()
    with pytest.raises(ImportError, match="relative imports"):
        fingerprint("job.py")


def test_missing_module_is_named(scripts):
    with pytest.raises(FileNotFoundError, match=r"kinds\.c"):
        fingerprint("job.py", "docstructure.kinds.c")


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("*.py")))
def test_closure_equals_what_python_really_loads(script):
    """Import the script in a fresh interpreter: every module of the library that gets loaded is in the closure."""
    code = (
        "import sys, importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('job', {str(SCRIPTS / script)!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "print('\\n'.join(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'docstructure'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SCRIPTS)}
    )
    loaded = {Path(line) for line in done.stdout.split()}
    assert loaded
    assert loaded <= set(closure(script))
