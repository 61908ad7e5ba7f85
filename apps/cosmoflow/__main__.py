"""`python -m cosmoflow` is the `cosmoflow` command."""

from cosmoflow.main import main

if __name__ == "__main__":
    raise SystemExit(main())
