"""How IPUs are configured: the options, what holds now, and their form on the wire."""
