"""How the documentation site is built: `make docs`.

Nothing is fetched from the network, and every warning is an error. A name in single backticks is a
link wherever it is a name of the reference, so docstrings need no markup of Sphinx's own.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

# Before NumPy is loaded: the examples' small matrices gain nothing from threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import kernimpute  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from written_at_build import link_tables, write_pieces  # noqa: E402

GALLERIES = {"../examples": "gallery", "../tutorials": "tutorials"}
"""Folders of scripts that the build runs, and folders of the pages made from them."""

project = "kernimpute"
author = "The kernimpute developers"
project_copyright = author
version = release = kernimpute.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
# The guide links to the tutorials themselves, so their index is no page of its own.
exclude_patterns = [
    "_build",
    "tutorials/index.rst",
    *(f"{folder}/*.{kind}" for folder in GALLERIES.values() for kind in ("ipynb", "py", "json")),
]
templates_path = ["_templates"]
default_role = "py:obj"
# A name in single backticks may also be a parameter, a variant or something internal, which have no
# page to link to. Other paths into the package must lead somewhere, as every explicit role must.
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r"(?!kernimpute\.).*"),
    ("py:obj", r"kernimpute\.(core|joint|methods|table)\..*"),
]

# Two hyphens begin an option; smart quotes would make them a dash.
smartquotes = False

html_theme = "pydata_sphinx_theme"
html_title = f"kernimpute {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"**": ["sidebar-nav-bs"]}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": project},
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Headings can be linked to, as on GitHub: differences.md#the-paper.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath"]

autosummary_generate = True
toc_object_entries_show_parents = "hide"
# Docstrings have shapes and ranges; the annotations would only repeat them.
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE / folder) for folder in GALLERIES],
    "gallery_dirs": list(GALLERIES.values()),
    "filename_pattern": r"plot_|[\\/]tutorials[\\/]",
    "ignore_pattern": r"(demo|picture)\.py",
    "thumbnail_size": (500, 350),
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "parallel": 2,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "doc_module": ("kernimpute",),
    "backreferences_dir": None,
}


def shorten_inherited(app, what, name, obj, options, lines):
    """Cut what is inherited from scikit-learn to its first paragraph, and unlink that.

    The links lead to pages of scikit-learn's own site.
    """
    if what == "method" and (getattr(obj, "__module__", "") or "").startswith("sklearn."):
        end = lines.index("") if "" in lines else len(lines)
        lines[:] = [re.sub(r":\w+:`([^<`]+?)( <[^>`]*>)?`", r"\1", line) for line in lines[:end]]


def setup(app):
    """Write what every build writes anew; register our hook before numpydoc's."""
    write_pieces(HERE / "generated")
    app.connect("source-read", link_tables)
    app.connect("autodoc-process-docstring", shorten_inherited, priority=400)
