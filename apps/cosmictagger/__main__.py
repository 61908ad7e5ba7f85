"""`python -m cosmictagger`."""

import sys

from cosmictagger.main import main

if __name__ == "__main__":
    sys.exit(main())
