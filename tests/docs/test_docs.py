"""The documentation lists every public name, its links lead somewhere, and its code runs."""

import ast
import re
import runpy
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import kernimpute
from kernimpute.table.columns import GAP_MARKERS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
MADE_AT_BUILD = ("generated", "gallery", "tutorials")
"""Folders of `docs` that a build makes, the last one from the scripts in `tutorials`."""


def references():
    """Return the full names that the reference page lists."""
    module, names = "", set()
    for line in (DOCS / "api.rst").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   ([\w.]+)$", line):
            names.add(f"{module}.{found[1]}")
        elif found := re.match(r"\.\. auto\w+:: (\S+)", line):
            names.add(found[1])
    return names


def slug(heading):
    """Return the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def headings(page):
    """Return the anchors of a page and of what it includes."""
    text = page.read_text(encoding="utf-8")
    for included in re.findall(r"```\{include\} (\.\./\S+)", text):
        text += (page.parent / included).read_text(encoding="utf-8")
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def in_toctrees(page):
    """Return what the tables of contents of a page list, in order."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line]
    return [re.sub(r".*<(.+)>", r"\1", line) for line in lines if not line.startswith(":")]


def python_blocks(page):
    """Yield the code of a page, each block at its own line numbers, and the output below it."""
    text = page.read_text(encoding="utf-8")
    pattern = r"^```python\n(.*?)^```$(?:\n\n```\n(.*?)^```$)?"
    for block in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        code = compile("\n" * text.count("\n", 0, block.start(1)) + block[1], page.name, "exec")
        yield code, block[2]


NUMBER = r"(\d+(?:\.\d*)?)"
WITH_CODE = [
    page
    for page in (ROOT / "README.md", *PAGES)
    if page.stem != "filling" and "```python" in page.read_text(encoding="utf-8")
]


def test_every_public_name_is_in_the_reference():
    modules = {"kernels", "stream"}
    names = {f"kernimpute.{name}" for name in {*kernimpute.__all__} - modules}
    for module in modules:
        names |= {f"kernimpute.{module}.{name}" for name in getattr(kernimpute, module).__all__}
    assert names <= references()


def test_every_page_and_tutorial_is_in_a_table_of_contents():
    listed = {name for page in PAGES for name in in_toctrees(page)} - {"gallery/index", "api"}
    found = [{*DOCS.glob(f"{name}.md"), *ROOT.glob(f"{name}.py")} for name in listed]
    tutorials = (ROOT / "tutorials").glob("*.py")
    assert set.union(*found) == {*PAGES, *tutorials} - {DOCS / "index.md"}
    assert all(found), listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_includes_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    included = re.findall(r"```\{include\} (\S+)", text)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    linked = [one for one in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text) if "://" not in one]
    for target in included + linked:
        path, _, anchor = target.partition("#")
        if path.startswith("gallery/plot_"):
            assert ROOT / "examples" / Path(path).with_suffix(".py").name in EXAMPLES
        elif path.startswith("tutorials/"):
            assert (ROOT / path).with_suffix(".py").is_file(), f"{page.name} refers to {target}"
        elif path.split("/")[0] not in MADE_AT_BUILD:
            file = (page.parent / path).resolve() if path else page
            assert file.is_file(), f"{page.name} refers to {target}"
            assert not anchor or anchor in headings(file), f"{page.name} refers to {target}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_a_title_and_shows_a_figure(path):
    source = path.read_text(encoding="utf-8")
    title, underline = ast.get_docstring(ast.parse(source)).splitlines()[:2]
    assert underline == "=" * len(title)
    assert "plt.show()" in source


def run_blocks(page, namespace):
    """Run the code of a page, and compare what it prints with what the page shows."""
    for code, shown in python_blocks(page):
        with redirect_stdout(StringIO()) as printed:
            exec(code, namespace)
        if shown is not None:
            words, expected = (re.split(NUMBER, one) for one in (printed.getvalue(), shown))
            assert "".join(words[::2]).split() == "".join(expected[::2]).split()
            # Trees that round differently move a probability.
            found, wanted = (np.array(one[1::2], dtype=float) for one in (words, expected))
            np.testing.assert_allclose(found, wanted, rtol=0.05, atol=0.03)


@pytest.fixture(scope="module")
def names():
    """Return what the code of "Fill a table" leaves, which other pages go on from."""
    left = {}
    run_blocks(DOCS / "filling.md", left)
    return left | {"X_train": left["X"], "y_train": left["y"], "X_new": left["X"].head(2)}


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # All candidates take minutes.
    few = partial(kernimpute.compare, methods=["joint", "linear"], folds=2, repeats=1, n_jobs=1)
    monkeypatch.setattr(kernimpute, "compare", few)
    run_blocks(page, dict(names))


def test_the_command_lines_page_lists_every_gap_marker():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    listed = re.search(r"is missing if it is empty or (.*?)\.\n", page, flags=re.DOTALL)
    assert {"", *re.findall(r"`([^`]+)`", listed[1])} == GAP_MARKERS


def test_the_command_lines_page_names_every_option_in_code():
    written = runpy.run_path(str(DOCS / "written_at_build.py"))
    page = written["commands"]()
    for command in written["get_command"](written["app"]).commands.values():
        for parameter in command.params:
            names = parameter.opts if parameter.opts[0][0] == "-" else [parameter.metavar]
            assert all(re.search(rf"^\|.*`{name}[ `]", page, re.MULTILINE) for name in names)
    assert not re.search(r"(?<!\w)--\w", re.sub(r"`[^`]*`", "", page))


def test_the_demo_says_where_it_is_worse(capsys):
    print_scores = runpy.run_path(str(ROOT / "examples" / "demo.py"))["print_scores"]
    scores = np.full((3, 6, 3), 0.5) + 0.01 * np.arange(3)[:, None, None]
    print_scores(scores)
    assert "In every line kernimpute is better" in capsys.readouterr().out
    scores[:, [0, 5], 2] += [0.1, -0.1]
    print_scores(scores)
    worse = capsys.readouterr().out.splitlines()[-1]
    assert "error of the fills (removed cells of training rows); " in worse
    assert worse.endswith("accuracy on complete new rows (SVM).")
