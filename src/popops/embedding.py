"""Plans of slices and updates of embedding tables."""

from __future__ import annotations

from ._slices import SlicePlan, SlicePlanningParameters, plan, planMultiple

__all__ = ["SlicePlan", "SlicePlanningParameters", "plan", "planMultiple"]
