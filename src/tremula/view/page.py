"""The profile as one self-contained page; see single_file.py for what such a page may and may not do.

A name in a profile cannot become markup or code.
"""

from __future__ import annotations

import os

from tremula.profile import Profile
from tremula.view.page_data import page_data
from tremula.view.single_file import embedded, page_and_policy, save_page, single_file
from tremula.view.text import clean

__all__ = ["embedded", "page_html", "served_page", "write_page"]

_HERE = "tremula.view"
_SCRIPTS = ("elements.js", "charts.js", "memory.js", "time.js", "operations.js", "main.js")


def page_html(profile: Profile) -> str:
    """The whole page."""
    return single_file(
        (_HERE, "page.html"),
        title=clean(profile.path.parent.name + "/" + profile.path.name, 80),
        styles=[(_HERE, "page.css")],
        scripts=[(_HERE, name) for name in _SCRIPTS],
        data=page_data(profile),
    )


def served_page(kind: str = "graph", *, compared: str = "") -> tuple[str, str]:
    """The page of a server, `graph` or `system`, and its content policy: it asks /api for all data.

    `compared` is the id of the report that the first one is compared with from the start.
    """
    return page_and_policy(
        (_HERE, "graph.html"),
        title="profiles" if kind == "graph" else "host traces",
        styles=[(_HERE, "page.css"), (_HERE, "graph.css")],
        scripts=[(_HERE, f"{kind}.js")],
        data={"api": "/api", "compared": compared},
        served=True,
    )


def write_page(profile: Profile, path: str | os.PathLike[str]) -> int:
    """Write the page to `path`, whole or not at all; gives its size in bytes.

    Raises Error if it cannot be written.
    """
    return save_page(page_html(profile), path)
