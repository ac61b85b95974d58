r"""Equations as MathML, which browsers draw themselves: no script, nothing fetched.

Sphinx takes this renderer in place of MathJax. It shows the number of a labelled equation as usual,
and that of a `\tag{...}`, because the paper's numbers are not ours. What docutils' converter cannot
read is a warning, so that the build fails.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from docutils.utils.math.unichar2tex import uni2tex_table
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

__all__ = ["setup"]

STYLE = Path(__file__).resolve().parent / "_static" / "math.css"
ACCENT = re.compile(r"(\\(?:bar|hat|tilde)\s*(?:\w|\{[^{}]*\}|\\\w+))(?=[_^])")
TAG = re.compile(r"\\tag\{(.+?)\}")

logger = logging.getLogger(__name__)


def converted(node, tex, *, is_block):
    """Return the MathML of an equation, or its source and a warning."""
    try:
        # The converter closes what was left open.
        if tex.count("{") - tex.count(r"\{") != tex.count("}") - tex.count(r"\}"):
            raise MathError("braces do not match")
        # It would put the index of a letter with an accent below the letter.
        tex = ACCENT.sub(r"\1{}", tex.strip().translate(uni2tex_table))
        return tex2mathml(tex, as_block=is_block)
    except Exception as error:
        text = "equation not understood: %s: %s"
        logger.warning(text, error, tex, location=node, type="mathml")
        return f"<code>{escape(tex)}</code>"


def visit_inline(writer, node):
    """Write an equation within a line."""
    writer.body.append(converted(node, node.astext(), is_block=False))
    raise nodes.SkipNode


def visit_block(writer, node):
    """Write an equation on its own, then its number."""
    tex = node.astext()
    equation = converted(node, TAG.sub("", tex), is_block=True)
    writer.body.append(writer.starttag(node, "div", CLASS="math") + f"<div>{equation}</div>")
    if node.get("number"):
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    elif tag := TAG.search(tex):
        writer.body.append(f'<span class="eqno">({tag[1]})</span>')
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def add_style(app, config):
    """Have the style copied, wherever else files of the site lie."""
    config.html_static_path = [*config.html_static_path, str(STYLE)]


def setup(app):
    """Register the renderer and its style."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("config-inited", add_style)
    app.add_css_file(STYLE.name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
