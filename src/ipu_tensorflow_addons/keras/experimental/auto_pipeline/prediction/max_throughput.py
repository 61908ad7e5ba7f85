"""The options with the highest throughput."""

from tremula.frontends.tensorflow.addons.auto_pipeline.partition import INF
from tremula.frontends.tensorflow.addons.auto_pipeline.profiles import (
    get_pipeline_cost,
    search_for_max_throughput,
)

__all__ = ["INF", "get_pipeline_cost", "search_for_max_throughput"]
