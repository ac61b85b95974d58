"""The documentation lists every public name, its links lead somewhere, and its code runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import kernimpute

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
READ_AT_BUILD = ("generated", "gallery")
"""Folders of `docs` that a build makes."""


def references():
    """Return the full names that the reference page lists."""
    module, names = "", []
    for line in (DOCS / "api.rst").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   ([\w.]+)$", line):
            names.append(f"{module}.{found[1]}")
        elif found := re.match(r"\.\. auto\w+:: (\S+)", line):
            names.append(found[1])
    return names


def slug(heading):
    """Return the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def links(page):
    """Return the targets of the links of a page that stay within the repository."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text)
    return [target for target in found if "://" not in target]


@pytest.mark.parametrize("name", sorted({*kernimpute.__all__} - {"kernels"}))
def test_public_name_is_in_the_reference(name):
    assert f"kernimpute.{name}" in references()


@pytest.mark.parametrize("name", sorted(kernimpute.kernels.__all__))
def test_kernel_is_in_the_reference(name):
    assert f"kernimpute.kernels.{name}" in references()


def test_every_page_is_in_a_table_of_contents():
    listed = []
    for page in PAGES:
        for block in re.findall(
            r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
        ):
            listed += [line for line in block.splitlines() if line and not line.startswith(":")]
    assert sorted({page.stem for page in PAGES} - {"index"}) == sorted(
        set(listed) - {"gallery/index", "api"}
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in links(page):
        path, _, anchor = target.partition("#")
        if path.startswith("gallery/plot_"):
            source = ROOT / "examples" / Path(path).with_suffix(".py").name
            assert source in EXAMPLES
            continue
        if path.split("/")[0] in READ_AT_BUILD:
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.is_file(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_included_files_exist(page):
    for target in re.findall(r"```\{include\} (\S+)", page.read_text(encoding="utf-8")):
        if target.split("/")[0] not in READ_AT_BUILD:
            assert (page.parent / target).is_file()


def test_examples_are_numbered_like_the_algorithm():
    assert [path.name.split("_")[1] for path in EXAMPLES] == [str(k) for k in range(len(EXAMPLES))]
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_compiles_and_shows_a_figure(path):
    source = path.read_text(encoding="utf-8")
    module = ast.parse(source)
    title, underline = ast.get_docstring(module).splitlines()[:2]
    assert underline == "=" * len(title)
    assert "plt.show()" in source


def test_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "guide.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    namespace = {}
    for block in blocks:
        exec(compile(block, "guide.md", "exec"), namespace)
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    lines = re.search(r"```python\n(.*?)```", index, re.DOTALL)[1]
    namespace.update(X_train=namespace["X"], y_train=namespace["y"], X_new=namespace["X"].head(2))
    exec(compile(lines, "index.md", "exec"), namespace)
