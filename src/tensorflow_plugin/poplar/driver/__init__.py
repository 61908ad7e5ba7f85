"""Messages of the plugin."""
