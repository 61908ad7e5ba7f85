"""The `tremula` command: one module per subcommand, listed in `tremula.cli.main`."""
