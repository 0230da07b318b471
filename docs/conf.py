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
    "citation",
    "repository",
    "rooms",
]
exclude_patterns = ["_build", "_ext"]

# Headings have the anchors that code hosts give them, so that links work in both places.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autosummary_generate = False
default_role = "code"
maximum_signature_line_length = 88
nitpicky = True
# Public names of ours must be found; annotations also name other libraries' types and private ones.
nitpick_ignore_regex = [("py:.*", r"(?!pnyx\.\w+\.\w+$).*")]

nb_execution_mode = "off"  # notebooks hold what they show (lab/notebooks.py)
nb_render_markdown_format = "myst"  # with tables

html_theme = "furo"
html_title = "Pnyx"
html_static_path = ["_static"]
html_css_files = ["pnyx.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
# The colours of the reports (src/pnyx/display/templates/report.css).
_SANS = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", '
    "Arial, sans-serif"
)
_SERIF = (
    '"Iowan Old Style", Charter, "Source Serif 4", "Palatino Linotype", Georgia, "Noto Serif", '
    '"Liberation Serif", serif'
)
_MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", Consolas, "Liberation Mono", monospace'
_FONTS = {
    "font-stack": _SANS,
    "font-stack--monospace": _MONO,
    "font-stack--headings": _SERIF,
}
html_theme_options = {
    "light_css_variables": {
        **_FONTS,
        "color-background-primary": "#fdfdfb",
        "color-background-secondary": "#f5f5f1",
        "color-background-border": "#dcdcd4",
        "color-foreground-primary": "#1c1e22",
        "color-foreground-secondary": "#5a5e66",
        "color-foreground-muted": "#5a5e66",
        "color-brand-primary": "#1f4e9c",
        "color-brand-content": "#1f4e9c",
        "color-brand-visited": "#1f4e9c",
    },
    "dark_css_variables": {
        "color-background-primary": "#15171a",
        "color-background-secondary": "#1d2024",
        "color-background-border": "#34383f",
        "color-foreground-primary": "#e6e4df",
        "color-foreground-secondary": "#a3a7af",
        "color-foreground-muted": "#a3a7af",
        "color-brand-primary": "#9cc0f5",
        "color-brand-content": "#9cc0f5",
        "color-brand-visited": "#9cc0f5",
    },
}
