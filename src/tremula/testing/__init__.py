"""Tests of models against the chip model: does it fit, is it fast enough, did a change make it worse.

    from tremula import testing

    def test_model_fits_one_ipu():
        testing.assert_fits("model.py:make", ipus=1, target="bow")

The pytest plugin (`tremula.testing.plugin`) adds fixtures for a virtual system and an empty cache. All figures are
modelled; `docs/testing.md` describes how to use them in continuous integration.
"""

from tremula.testing.assertions import (
    assert_fits,
    assert_no_regression,
    assert_no_unsupported_ops,
    assert_throughput,
)

__all__ = ["assert_fits", "assert_no_regression", "assert_no_unsupported_ops", "assert_throughput"]
