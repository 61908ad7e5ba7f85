"""Helpers of test suites for IPU programs, as `tensorflow.python.ipu.test_utils` offers them."""
