"""The profile as one self-contained page: markup, style, script and data in a single file that needs no network.

Its content security policy allows exactly the script and the style that are shipped (by their hashes) and no
request at all. Data is JSON in a block that is never executed, with <, > and & written as escapes, and the script
puts every text on the page as text: a name in a profile cannot become markup or code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html import escape
from importlib import resources
from pathlib import Path

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view.page_data import page_data
from tremula.view.text import clean
from tremula.whole_files import whole_file

_SCRIPTS = ("elements.js", "charts.js", "memory.js", "time.js", "operations.js", "main.js")


def page_html(profile: Profile) -> str:
    """The whole page."""
    style = _asset("page.css")
    script = "(function () {\n'use strict';\n" + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    replacements = {
        "@POLICY@": escape(policy),
        "@TITLE@": escape(clean(profile.path.parent.name + "/" + profile.path.name, 80)),
        "@STYLE@": style,
        "@SCRIPT@": script,
        "@DATA@": embedded(page_data(profile)),
    }
    # one pass: what is put in is not looked at again
    return re.sub("|".join(replacements), lambda found: replacements[found[0]], _asset("page.html"))


def embedded(data: object) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def write_page(profile: Profile, path: str | os.PathLike[str]) -> int:
    """Write the page to `path`, whole or not at all; gives its size in bytes.

    Raises:
        Error: it cannot be written.
    """
    target = Path(path)
    text = page_html(profile)
    try:
        with whole_file(target) as file:
            file.write(text)
    except OSError as error:
        raise Error(
            f"The page {target} could not be written: {error.strerror or error}. Choose another place for it.",
            type="profile_error",
        ) from error
    return len(text.encode("utf-8"))


def _asset(name: str) -> str:
    return resources.files("tremula.view").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
