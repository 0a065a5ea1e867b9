"""The documentation as a site: `make docs` builds it, without a network and with warnings as errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import reshuffle

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.append(str(Path(__file__).parent / "site"))

project = "reshuffle"
author = "The reshuffle developers"
copyright = author
version = release = reshuffle.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "commands", "docstrings", "notebooks", "formulas"]
exclude_patterns = ["README.md", "site"]  # README is the index for people who read the files
default_role = "code"  # docstrings are written with `name`, as in Markdown
nitpicky = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
html_math_renderer = "mathml"
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

html_theme = "furo"
templates_path = ["site/templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "versions.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_title = f"reshuffle {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_favicon = "site/static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False


ROOT_PAGE = re.compile(r"\]\((?:\.\./)+(CHANGELOG|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md\b")


def inside(app: Sphinx, name: str, source: list[str]) -> None:  # noqa: ARG001 - as Sphinx calls it
    """Let links to pages at the root of the checkout lead to the site's pages of them."""
    source[0] = ROOT_PAGE.sub(lambda link: f"](/project/{link[1].lower()}.md", source[0])


def setup(app: Sphinx) -> None:
    """Tell Sphinx."""
    app.connect("source-read", inside)
