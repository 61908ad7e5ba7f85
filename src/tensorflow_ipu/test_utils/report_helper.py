"""Reports for tests."""

from tremula.frontends.tensorflow.testing.reports import (
    ReportHelper,
    ReportJSON,
    TensorMap,
    missing_whitelist_entries_in_names,
)

__all__ = ["ReportHelper", "ReportJSON", "TensorMap", "missing_whitelist_entries_in_names"]
