"""Assertions about reports, which every TensorFlowTestCase gets."""

from tensorflow.python.framework.test_util import TensorFlowTestCase

from tremula.frontends.tensorflow.testing.report_assertions import TestCaseExtensions, extend_test_cases

extend_test_cases(TensorFlowTestCase)

__all__ = ["TestCaseExtensions"]
