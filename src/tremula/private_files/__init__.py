"""Folders and files that other users cannot change: the checks for state, cache, code and reports.

A folder is trusted if it belongs to the user or to root and no other user can write to it. A sticky folder such as
/tmp will do as a place to make folders and files in: others cannot replace what is ours there. A group that is the
user's own and has no other member does not count as others. Where code is taken from, the folders above count as well.

A file is opened without following a link, and used only if it is a regular file of the user or root. A file that is
written has one name, so that it is not another file that somebody linked here.

Systems without numeric owners (Windows) have no such checks: the system protects the user's profile folder.
"""

from tremula.private_files.files import locked, open_to_read, open_to_update, read
from tremula.private_files.folders import (
    Distrust,
    code_distrust,
    folder_distrust,
    make_code_directory,
    make_directory,
    require_code_trusted,
    tighten,
)
from tremula.private_files.owners import Untrusted

__all__ = [
    "Distrust", "Untrusted", "code_distrust", "folder_distrust", "locked", "make_code_directory", "make_directory",
    "open_to_read", "open_to_update", "read", "require_code_trusted", "tighten",
]  # fmt: skip
