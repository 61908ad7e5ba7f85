"""Helpers of the reference suites: they find reports, and nothing passes for an event that was not traced."""

from __future__ import annotations

import gc
import os
import unittest
from pathlib import Path

import pytest

from tremula.frontends.tensorflow.config.configure import running_on_ipu_model
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
from tremula.frontends.tensorflow.testing import datasets, events, hardware, reports


class Case(unittest.TestCase):
    def runTest(self):
        pass


def test_a_test_that_needs_more_ipus_is_skipped():
    run = hardware.needs_ipus(16)(lambda _: "ran")
    assert run(Case()) == "ran"
    with pytest.raises(unittest.SkipTest, match="needs 17 IPUs; this machine has 16"):
        hardware.needs_ipus(17)(lambda _: "ran")(Case())
    assert hardware.needs_ipus(17, allow_ipu_model=True)(lambda _: "ran")(Case()) == "ran"


def test_a_test_that_is_not_for_hardware_runs_on_a_model():
    assert not running_on_ipu_model()
    assert hardware.skip_on_hw(lambda _: (running_on_ipu_model(), hardware.has_ci_ipus()))(Case()) == (
        True,
        False,
    )
    assert not running_on_ipu_model()
    assert "TF_POPLAR_FLAGS" not in os.environ
    assert hardware.get_ci_num_ipus() == 16


def test_reading_events_skips():
    with pytest.raises(unittest.SkipTest, match=r"not .* yet"):
        reports.ReportJSON(Case()).parse_log()


def test_reports_are_found_oldest_first_and_cleared():
    helper, config = reports.ReportHelper(), IPUConfig()
    with pytest.raises(RuntimeError, match="set_autoreport_options"):
        helper.find_reports()
    helper.set_autoreport_options(config)
    folder = Path(config.compilation_poplar_options["autoReport.directory"])
    with pytest.raises(AssertionError, match="0 reports"):
        helper.find_report()
    paths = [folder / name / "profile.pop" for name in ("tf_report_000_training", "tf_report_001_inference")]
    for path in paths:
        path.parent.mkdir()
        path.touch()
    assert helper.find_reports() == [str(path) for path in paths]
    helper.clear_reports()
    assert helper.find_reports() == []
    del helper
    gc.collect()
    assert not folder.exists()


def test_events_are_asked_for_in_the_message():
    config = IPUConfig()
    events.enable_ipu_events(config)
    assert config._create_protobuf().profiling.enable_ipu_trace_events


def test_a_trace_is_shown_as_text():
    event = events.IpuTraceEvent(type=1, compile_end={"module_name": b"cluster"})
    trace = [event.SerializeToString()]
    assert "Compile end: cluster" in events.extract_all_strings_from_event_trace(trace)
    assert events.extract_all_types_from_event_trace(trace) == [1]
    assert events.extract_all_events(trace) == [event]


def test_datasets_count_up():
    elements = list(datasets.create_single_increasing_dataset(3, [2]).take(4))
    assert [each[0].numpy().tolist() for each in elements] == [[0, 0], [1, 1], [2, 2], [0, 0]]
    assert len(list(datasets.create_dual_increasing_dataset(3, repeat=False))) == 3


def test_names_that_no_pattern_matches():
    assert reports.missing_whitelist_entries_in_names(["a/conv_1", "b"], ["conv", "add"]) == ["*add*"]
