"""The executable cache: signed files of compiled code that only processes of their owner load.

Knows nothing of what is in an entry. `Store` is the folder; `key_of` names an entry; `trust` says which folders
and files code may come from; docs/security.md explains why.
"""

from tremula.cache.entry_file import Entry
from tremula.cache.eviction import Removed
from tremula.cache.keys import file_name, key_in, key_of
from tremula.cache.locks import Waiting
from tremula.cache.store import EntryInfo, Lookup, Store
from tremula.cache.trust import default_root, usable_root

__all__ = [
    "Entry", "EntryInfo", "Lookup", "Removed", "Store", "Waiting", "default_root", "file_name", "key_in", "key_of",
    "usable_root",
]  # fmt: skip
