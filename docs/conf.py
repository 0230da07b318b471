"""How Sphinx builds the site of the documentation: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from pnyx import __version__

project = "Pnyx"
author = "the Pnyx authors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "repository",
    "rooms",
]
exclude_patterns = ["_build", "_ext"]

# Headings have the anchors that code hosts give them, so that links work in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autosummary_generate = False
nitpicky = True
# Public names of ours must be found; annotations also name other libraries' types and private ones.
nitpick_ignore_regex = [("py:.*", r"(?!pnyx\.\w+\.\w+$).*")]
default_role = "code"

html_theme = "furo"
html_title = "Pnyx"
