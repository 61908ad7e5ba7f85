"""Programs: the control tree that an engine runs."""
