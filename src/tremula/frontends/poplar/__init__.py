"""The Poplar front end: graphs of variables, vertices and codelets, executed on the host."""
