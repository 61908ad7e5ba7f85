"""A page in one file that needs no network: markup, style, script and data put together, under a strict policy.

The content security policy allows exactly the script and the style that are shipped (by their hashes) and no request
at all. Data is JSON in a block that is never executed, with <, > and & written as escapes; scripts put every text on
the page as text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from tremula.atomic_files import cannot_write, write_text_atomically
from tremula.errors import Error

#: where an asset is: (package, name of the file in its folder `assets`)
Asset = tuple[str, str]


def single_file(
    markup: Asset, *, title: str, styles: Sequence[Asset], scripts: Sequence[Asset], data: object
) -> str:
    """The whole page: `markup` with its @POLICY@, @TITLE@, @STYLE@, @DATA@ and @SCRIPT@ filled in.

    Styles and scripts stay in order; scripts share one scope and hide it from the page. The title is escaped here.
    """
    return page_and_policy(markup, title=title, styles=styles, scripts=scripts, data=data)[0]


def page_and_policy(
    markup: Asset,
    *,
    title: str,
    styles: Sequence[Asset],
    scripts: Sequence[Asset],
    data: object,
    served: bool = False,
) -> tuple[str, str]:
    """The page and the content policy that it states; a page that is `served` may ask its own server for data."""
    style = "\n".join(map(_asset, styles))
    script = "(function () {\n'use strict';\n" + "\n".join(map(_asset, scripts)) + "\n})();\n"
    connect = "connect-src 'self'; " if served else ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )
    replacements = {
        "@POLICY@": escape(policy),
        "@TITLE@": escape(title),
        "@STYLE@": style,
        "@SCRIPT@": script,
        "@DATA@": embedded(data),
    }
    # one pass: what is put in is not looked at again
    return re.sub("|".join(replacements), lambda found: replacements[found[0]], _asset(markup)), policy


def embedded(data: object) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def compressed(data: object) -> dict[str, str]:
    """Data for a page in a few characters: JSON, gzip, base64; the browser has what it takes to read it."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return {"gzip": base64.b64encode(gzip.compress(text.encode("ascii"), 6, mtime=0)).decode("ascii")}


def save_page(text: str, path: str | os.PathLike[str], *, type: str = "profile_error") -> int:
    """Write a page to `path`, whole or not at all; gives its size in bytes; raises Error if it cannot be written."""
    target = Path(path)
    try:
        write_text_atomically(target, text)
    except OSError as error:
        raise Error(f"The page {cannot_write(target, error)}", type=type) from error
    return len(text.encode("utf-8"))


def _asset(asset: Asset) -> str:
    package, name = asset
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
