"""Pictures of every view of a page, as a browser draws it: wide and narrow, light and dark.

    python -m benchmarks.page_pictures PROFILE [PROFILE] -o FOLDER [--views memory,liveness] [--state "ipu=1&by=layer"]
    python -m benchmarks.page_pictures TRACE.pvti -o FOLDER

Run from the repository's root; it needs Chromium. With two profiles, the second is compared with the first; traces, or
a folder of them, are shown in the System Analyser. Prints the size of the page, and what went wrong in the browser;
exits with 1 if anything did.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import importlib.util
import pathlib
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

VIEWS = ("summary", "insights", "memory", "liveness", "program", "operations", "trace", "pipeline")
SIZES = ((1440, 900), (390, 844))
THEMES = ("light", "dark")


def main(arguments: list[str] | None = None) -> int:
    """Write the pictures; 1 if the browser told of a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("profiles", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder of the pictures")
    parser.add_argument("--views", help="views to draw (default: all)")
    parser.add_argument("--state", default="", help="what follows the name of the view in the address")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    page = options.output / "page.html"
    size, views = _write(options.profiles, page)
    print(f"{page}: {size / 1e6:.2f} MB")
    faults = []
    module = _browser_module()
    executable = next(found for name in module.BROWSERS if (found := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder:
        browser = module.Browser(executable, pathlib.Path(folder))
        for width, height in SIZES:
            for theme in THEMES:
                for view in options.views.split(",") if options.views else views:
                    path = options.output / f"{view}-{width}-{theme}.png"
                    path.write_bytes(
                        _picture(browser, page, f"#{view}?{options.state}", (width, height), theme)
                    )
                    faults += [f"{path.name}: {fault}" for fault in browser.faults()]
        browser.close()
    for fault in faults:
        print(fault)
    return int(bool(faults))


def _write(paths: Sequence[pathlib.Path], page: pathlib.Path) -> tuple[int, tuple[str, ...]]:
    """Write the page of profiles or traces; gives its size in bytes and the names of its views."""
    from tremula.profile import Profile
    from tremula.trace.several import TraceSet
    from tremula.view.page import write_page
    from tremula.view.reports import TRACE, find_reports
    from tremula.view.system_page import write_system_page

    found = find_reports(paths)
    if found[0].kind == TRACE:
        return write_system_page(TraceSet(found[0].paths), page), ("system",)
    with contextlib.ExitStack() as stack:
        profiles = [stack.enter_context(Profile(each.paths[0])) for each in found[:2]]
        names = [each.name for each in found]
        return write_page(profiles[0], page, *profiles[1:], names=names, compare=len(profiles) > 1), VIEWS


def _picture(browser: Any, page: pathlib.Path, fragment: str, size: tuple[int, int], theme: str) -> bytes:
    width, height = size
    emulated = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.open(page, fragment)
    browser.call("Emulation.setDeviceMetricsOverride", **emulated)
    # the view is opened anew, as a screen of this size opens it
    browser.run(
        f"document.documentElement.dataset.theme = '{theme}'; dispatchEvent(new Event('resize'));"
        "dispatchEvent(new Event('hashchange'))"
    )
    browser.run(
        "new Promise(done => { const look = () => document.getElementById('view').dataset.ready === 'true'"
        " ? setTimeout(done, 300) : setTimeout(look, 20); look(); })"
    )
    browser.settle()
    return base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])


def _browser_module() -> Any:
    """The driver of the tests."""
    path = pathlib.Path(__file__).parents[1] / "tests" / "browser.py"
    spec = importlib.util.spec_from_file_location("page_browser", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    raise SystemExit(main())
