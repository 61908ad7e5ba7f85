"""Tools of the plugin."""
