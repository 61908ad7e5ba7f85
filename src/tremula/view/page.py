"""Reports as one self-contained page, or the page of a server; see single_file.py for what pages may and may not do.

A name in a profile cannot become markup or code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tremula.profile import Profile
from tremula.view.page_data import page_data, report_info
from tremula.view.single_file import compressed, embedded, page_and_policy, save_page

__all__ = ["embedded", "page_html", "served_page", "write_page"]

_HERE = "tremula.view"


def page_html(profile: Profile, *others: Profile, names: Sequence[str] = (), compare: bool = False) -> str:
    """The whole page for one report or several; with `compare`, the second is compared with the first."""
    profiles = (profile, *others)
    data = page_data(profiles, names, compare=compare)
    title = report_info(profile, 0, names)["name"]
    return _page("graph", title, compressed(data), served=False)[0]


def served_page(kind: str = "graph", *, compared: str = "") -> tuple[str, str]:
    """The page of a server, `graph` or `system`, and its content policy: it asks /api for all data.

    `compared` is the id of the report that the first one is compared with from the start.
    """
    title = "profiles" if kind == "graph" else "host traces"
    return _page(kind, title, {"api": "/api", "compared": compared}, served=True)


def _page(kind: str, title: str, data: object, *, served: bool) -> tuple[str, str]:
    return page_and_policy(
        (_HERE, "graph.html"),
        title=title,
        styles=[(_HERE, "page.css"), (_HERE, "graph.css"), (_HERE, "timeline.css")],
        scripts=[(_HERE, f"{kind}.js")],
        data=data,
        served=served,
    )


def write_page(
    profile: Profile,
    path: str | os.PathLike[str],
    *others: Profile,
    names: Sequence[str] = (),
    compare: bool = False,
) -> int:
    """Write the page to `path`, whole or not at all; gives its size in bytes.

    Raises Error if it cannot be written.
    """
    return save_page(page_html(profile, *others, names=names, compare=compare), path)
