"""The gc-* tools and vipu on virtual IPUs: the commands, options and layouts that users and scripts know.

Each tool is one module with a `main(arguments) -> exit code`. Figures that a tool measures are those of this host;
figures that it models say so, and where they come from.
"""
