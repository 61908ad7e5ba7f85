"""What a trace file is: an SQLite database with one table of batches (`batch`)."""

from __future__ import annotations

#: "TRMT" in the header of the file
APPLICATION_ID = 0x54524D54
SCHEMA_VERSION = 1
OLDEST_VERSION = 1

TABLES = {"batches": "CREATE TABLE batches (number INTEGER PRIMARY KEY, content BLOB NOT NULL)"}

#: bytes of a file, and of all of its batches before compression
MOST_FILE_BYTES = 2 * 2**30
MOST_RAW_BYTES = 2**30
#: bytes of one batch as it is stored
MOST_BLOB = 65 * 2**20
PAGE_BYTES = 4096
