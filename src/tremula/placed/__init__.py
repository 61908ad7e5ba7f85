"""The chip model of placed programs: what tiles do and hold when variables and vertices were put on them by hand."""
