"""One argued question as one HTML file: no network, no external files, works without scripts.

Everything from documents, writers and judges passes Jinja2's autoescape. As a second defence, the
page's Content Security Policy allows only its own style and script, by SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pnyx._version import __version__
from pnyx.cases.case import Case
from pnyx.cases.page.build import view_case
from pnyx.cases.page.model import CaseView
from pnyx.display.states import STATES, State, StateWording

if TYPE_CHECKING:
    import jinja2

_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page_policy(style: str, script: str = "") -> str:
    """Return the policy of a page with only these inline texts.

    Scripts are forbidden without one.
    """
    allowed = _pin(script) if script else "'none'"
    return _POLICY.format(script=allowed, style=_pin(style))


def render_html(case: Case) -> str:
    """Return the report of a case as one self-contained HTML document; its text may be hostile.

    It can be encoded as UTF-8, opens from disk and makes no network requests.
    """
    from markupsafe import Markup

    css = "".join(map(template_file, ("tokens.css", "report.css", "case.css")))
    js = template_file("report.js")
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            **case_values(case),
            version=__version__,
            csp=Markup(page_policy(css, js)),  # noqa: S704 - no input
            css=Markup(css),  # noqa: S704 - the package's own file
            js=Markup(js),  # noqa: S704 - the package's own file
        )
    )


def case_values(case: Case) -> dict[str, Any]:
    """Return the values for the templates `case_head`, `case_body` and `case_drawer`."""
    page = view_case(case)
    return {
        "page": page,
        "states": STATES,
        "legend": _legend(page),
        "problems": [(side.wording.name, p) for side in page.sides for p in side.problems],
    }


def _legend(page: CaseView) -> dict[State, StateWording]:
    """Return the states on the page; all if it has no sentences."""
    groups = [group for side in page.sides for group in side.groups]
    stated = [s for group in groups for s in (group.conclusion, *group.premises) if s is not None]
    used = {s.state for s in stated} | {c.verdict.state for s in stated for c in s.citations}
    return {state: wording for state, wording in STATES.items() if state in used or not used}


@cache
def environment() -> jinja2.Environment:
    """Return the template environment, which escapes all values."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("pnyx.display", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def template_file(name: str) -> str:
    """Return a file to insert unchanged into the page; it must not close its element."""
    text = resources.files("pnyx.display").joinpath("templates", name).read_text("utf-8")
    if "</" in text:
        raise ValueError(f"{name} would end its element early")
    return text


def _pin(text: str) -> str:
    """Return the CSP source expression that allows exactly this inline text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
