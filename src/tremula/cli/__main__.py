"""`python -m tremula.cli` is the `tremula` command."""

import sys

from tremula.cli.main import main

sys.exit(main())
