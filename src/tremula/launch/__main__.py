"""`python -m tremula.launch` is `poprun`."""

from __future__ import annotations

import sys

from tremula.launch.main import main

if __name__ == "__main__":
    sys.exit(main())
