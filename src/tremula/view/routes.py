"""Which answer each address of the server gives: two pages, the list of reports, answers and frames of each."""

from __future__ import annotations

from typing import Any

from tremula.view.page import served_page
from tremula.view.parameters import Parameters
from tremula.view.reports import PROFILE, OpenReports
from tremula.view.server import NotFound, Page, Route
from tremula.view.server import Parameters as Query


def routes(reports: OpenReports, *, compare: bool = False) -> Route:
    """The function that answers for `reports`; a page for profiles at /, one for traces at /system.

    With `compare`, the page opens with the second profile beside the first.
    """
    profiles = [str(each.number) for each in reports.reports if each.kind == PROFILE]
    compared = profiles[1] if compare and len(profiles) > 1 else ""

    def route(words: tuple[str, ...], query: Query) -> Page | Any:
        match words:
            case ():
                return Page(*(served_page("graph", compared=compared) if profiles else served_page("system")))
            case ("system",):
                return Page(*served_page("system"))
            case ("api", "reports"):
                return reports.listed()
            case ("api", "r", number, "frame", name):
                values = Parameters(query)
                columns = [each for each in query.get("columns", "").split(",") if each]
                rows = values.integer("rows") if "rows" in query else None
                return reports.frame(
                    _number(reports, number), name, columns, values.integer("first", 0), rows
                )
            case ("api", "r", number, what):
                return reports.answer(_number(reports, number), what, query)
        raise NotFound

    return route


def _number(reports: OpenReports, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4) or int(text) >= len(reports.reports):
        raise NotFound(f"There is no report {text[:20]}; there are {len(reports.reports)}.")
    return int(text)
