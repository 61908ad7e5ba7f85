"""A profile full of hostile names."""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def hostile_file(
    profile_file: Path,
    rewrite_profile: Callable[..., Path],
    hostile_texts: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A profile in which every text is hostile, except those that viewers look up."""
    from tremula.profile import model

    kept = {(model.Figure, "name"), (model.Op, "phase"), (model.Superstep, "name")}
    seen: Counter[tuple[type, str]] = Counter()

    def change(row: Any) -> Any:
        changed = {}
        for field in fields(row):
            value = getattr(row, field.name)
            seen[type(row), field.name] += 1  # every column gets every text
            text = hostile_texts[seen[type(row), field.name] % len(hostile_texts)]
            if field.name == "code":
                changed["code"] = json.dumps([text])
            elif isinstance(value, str) and (type(row), field.name) not in kept and field.name != "why":
                changed[field.name] = text
            elif field.name == "why":
                changed["why"] = json.dumps({"plan": text, "formula": text, "figures": {text: 1.0}})
        return replace(row, **changed)

    def change_frame(name: str, columns: dict[str, Any]) -> dict[str, Any]:
        texts = itertools.cycle(hostile_texts)
        kept = {("programs", "kind")}
        return {
            column: [next(texts) for _ in values]
            if isinstance(values, list) and (name, column) not in kept
            else values
            for column, values in columns.items()
        }

    return rewrite_profile(
        profile_file, tmp_path_factory.mktemp("hostile") / "profile.pop", change, change_frame
    )


class PageDriver:
    """Drives a page in a browser by what a user does: views, clicks, keys, texts."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a page from disk, with what follows # in its address."""
        self.browser.open(page, fragment)
        self.wait()

    def wait(self, condition: str = "true") -> None:
        """Until the view is drawn and a condition holds."""
        self.browser.run(
            "new Promise((done, fail) => { const end = Date.now() + 15000; const look = () => {"
            f" if (document.getElementById('view').dataset.ready === 'true' && ({condition})) done(1);"
            " else if (Date.now() > end) fail(new Error('it does not come')); else setTimeout(look, 15); }; look(); })"
        )
        self.browser.settle()

    def view(self, name: str) -> None:
        """Open a view from the menu."""
        self.browser.run(f"document.getElementById('tab-{name}').click()")
        self.wait(f"document.getElementById('view').dataset.view === '{name}'")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.browser.run(expression)

    def text(self, selector: str = "#view") -> str:
        """The text of an element."""
        return str(self.browser.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Click an element."""
        self.browser.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.wait()

    def press(self, key: str, selector: str = "body", **more: bool) -> None:
        """Press a key on an element."""
        event = json.dumps({"key": key, "bubbles": True, "cancelable": True, **more})
        self.browser.run(
            f"document.querySelector({json.dumps(selector)}).dispatchEvent(new KeyboardEvent('keydown', {event}))"
        )
        self.wait()

    def type(self, selector: str, text: str) -> None:
        """Put a text into a box."""
        self.browser.run(
            f"{{const box = document.querySelector({json.dumps(selector)}); box.value = {json.dumps(text)};"
            " for (const type of ['input', 'change']) box.dispatchEvent(new Event(type, {bubbles: true}))}"
        )
        self.wait()

    def mouse(self, selector: str, *places: tuple[float, float], **more: bool) -> None:
        """Press at the first of places (shares of width and height), move over all, let go at the last."""
        steps = [("pointermove", places[0]), ("pointerdown", places[0])]
        steps += [("pointermove", place) for place in places[1:]] + [("pointerup", places[-1])]
        self.browser.run(
            f"{{const node = document.querySelector({json.dumps(selector)}), area = node.getBoundingClientRect();"
            f" for (const [type, [x, y]] of {json.dumps(steps)}) {{ const at = {{clientX: area.left + x * area.width,"
            f" clientY: area.top + y * area.height, bubbles: true, button: 0, ...{json.dumps(more)}}};"
            " node.dispatchEvent(new PointerEvent(type, at)); }}"
        )
        self.wait()

    def csv(self, selector: str) -> str:
        """What a button copies as CSV."""
        return str(
            self.browser.run(
                f"new Promise(done => {{const node = document.querySelector({json.dumps(selector)});"
                " node.addEventListener('csv', event => done(event.detail), {once: true}); node.click()})"
            )
        )

    @property
    def fragment(self) -> str:
        """What follows # in the address."""
        return str(self.browser.run("location.hash"))


@pytest.fixture
def driver(browser: Any) -> PageDriver:
    """A driver of pages."""
    return PageDriver(browser)


@pytest.fixture
def profile_page(driver: PageDriver, profile_file: Path, tmp_path: Path) -> PageDriver:
    """The page of the small pipeline, open at its first view."""
    from tremula.profile import Profile
    from tremula.view.page import write_page

    with Profile(profile_file) as profile:
        write_page(profile, tmp_path / "page.html")
    driver.open(tmp_path / "page.html")
    return driver


@pytest.fixture(scope="session")
def executed_file(profile_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile with a recorded run of two IPUs that is made up; see tests/execution_profile.py."""
    path = tmp_path_factory.mktemp("executed") / "training" / "profile.pop"
    path.parent.mkdir()
    return beside("execution_profile").write(profile_file, path)


@pytest.fixture(scope="session")
def without_runs(profile_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a recorded run."""
    return beside("execution_profile").write(
        profile_file, tmp_path_factory.mktemp("executed") / "profile.pop", ipus=0
    )


@pytest.fixture(scope="session")
def hostile_run(
    profile_file: Path, hostile_texts: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The same with hostile names of compute sets and programs."""
    path = tmp_path_factory.mktemp("executed") / "<img src=x>" / "profile.pop"
    path.parent.mkdir()
    return beside("execution_profile").write(profile_file, path, supersteps=12, names=hostile_texts)


@pytest.fixture
def pointer(browser: Any) -> Any:
    """Real pointer and key events on a timeline; see tests/timeline_pointer.py."""
    return beside("timeline_pointer").Pointer(browser)


def beside(name: str) -> Any:
    """A module in the folder of tests, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def one_ipu_file(layered: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of a small program on one IPU."""
    from tremula.estimate import estimate
    from tremula.hardware.catalogue import system
    from tremula.recording import write_profile
    from tremula.schedule.deployment import Deployment

    found = estimate(layered(3), Deployment(), system("pod16"))
    return write_profile(found, tmp_path_factory.mktemp("one") / "profile.pop", run={"model": "one"})
