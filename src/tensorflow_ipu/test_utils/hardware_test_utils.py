"""Which tests run on this machine."""

from tremula.frontends.tensorflow.testing.hardware import (
    add_hw_ci_connection_options,
    get_ci_num_ipus,
    has_ci_ipus,
    skip_if_not_enough_ipus,
    skip_on_hw,
    skip_with_asan,
)
from tremula.frontends.tensorflow.testing.hardware import (
    needs_ipus as test_uses_ipus,
)
from tremula.frontends.tensorflow.testing.hardware import (
    needs_ipus_or_model as test_may_use_ipus_or_model,
)

__all__ = [
    "add_hw_ci_connection_options",
    "get_ci_num_ipus",
    "has_ci_ipus",
    "skip_if_not_enough_ipus",
    "skip_on_hw",
    "skip_with_asan",
    "test_may_use_ipus_or_model",
    "test_uses_ipus",
]
