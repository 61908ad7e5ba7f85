"""Calls from the host: what is paid once, what per iteration, and what hides behind what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.hardware import catalogue
from tremula.schedule.constants import FITTED_SCHEDULE
from tremula.schedule.host_io import CALL_SECONDS_RANGE, call_time

M2000 = catalogue.system("m2000")
C2 = catalogue.system("c2")
C600 = catalogue.system("c600")

seconds = st.floats(0, 1)
amounts = st.floats(0, 1e9)


@given(seconds, amounts, amounts, st.integers(1, 1000), st.booleans(), st.integers(0, 4))
def test_parts_add_up(device, inputs, outputs, iterations, overlap, depth) -> None:
    call = call_time(device, inputs, outputs, iterations, system=M2000, overlap=overlap, prefetch_depth=depth)
    steady = call.device_seconds + call.exposed_stream_seconds + call.exposed_link_seconds
    most = call.overhead_seconds + call.fill_seconds + iterations * steady
    assert call.seconds <= most * (1 + 1e-9)
    assert call.seconds >= (call.overhead_seconds + iterations * device) * (1 - 1e-9)
    assert call.period_seconds <= call.seconds * (1 + 1e-9)
    assert min(call.exposed_stream_seconds, call.exposed_link_seconds) >= -1e-12


@given(seconds, amounts, amounts, st.integers(1, 100))
def test_prefetch_overlap_and_synthetic_data_never_cost(device, inputs, outputs, iterations) -> None:
    def take(**changes) -> float:
        return call_time(device, inputs, outputs, iterations, system=M2000, **changes).seconds

    plain = take()
    assert plain <= take(prefetch_depth=0) * (1 + 1e-9)
    assert take(overlap=True) <= plain * (1 + 1e-9)
    assert take(synthetic=True) <= take(overlap=True) * (1 + 1e-9)
    assert take(synthetic=True) == pytest.approx(FITTED_SCHEDULE.call_seconds + iterations * device)


@given(seconds, amounts, st.integers(1, 50))
def test_device_iterations_amortise_the_call(device, inputs, iterations) -> None:
    one = call_time(device, inputs, 0, iterations, system=M2000)
    two = call_time(device, inputs, 0, 2 * iterations, system=M2000)
    assert two.seconds / 2 <= one.seconds * (1 + 1e-9)


@given(amounts, st.integers(1, 4))
def test_replicas_share_the_host_link(inputs, replicas) -> None:
    alone = call_time(0, inputs, 0, 8, system=M2000)
    together = call_time(0, inputs, 0, 8, system=M2000, replicas=replicas)
    assert together.seconds >= alone.seconds
    # four replicas of one IPU share a machine, replicas of four IPUs have one each
    apart = call_time(0, inputs, 0, 8, system=catalogue.system("pod16"), replicas=4, ipus_per_replica=4)
    assert apart.seconds == pytest.approx(alone.seconds)


def test_calls_under_way_at_once_hide_the_host() -> None:
    one = call_time(1e-3, 1e6, 0, 1, system=C600)
    many = call_time(1e-3, 1e6, 0, 1, system=C600, calls_in_flight=8)
    assert one.period_seconds == one.seconds
    assert many.period_seconds == pytest.approx(1e-3 + many.stream_seconds)
    assert many.seconds == one.seconds


def test_against_published_transfers() -> None:
    """The rates were taken from these figures: this guards units and legs, and is not evidence for the model."""
    # thorbenlouw/lbm-graphcore: 2200 x 1122 RGBA in fp32, in and out, host exchange cycles on Mk1
    image = 2200 * 1122 * 4 * 4
    call = call_time(0, image, image, system=C2)
    assert call.stream_seconds * C2.chip.clock_hz == pytest.approx(6_552_436, rel=0.01)
    # Poplar tutorial 6 on Mk2: 10,000 x 1,000 fp32
    call = call_time(0, 40e6, 0, system=M2000)
    assert call.stream_seconds * M2000.chip.clock_hz == pytest.approx(2_641_488, rel=0.01)
    # EfficientDet-D0: 8.8 MB of results from the gateway to the host took 3.1 ms
    assert call_time(0, 0, 8.8e6, system=M2000).link_seconds == pytest.approx(3.1e-3, rel=0.05)


def test_against_published_calls() -> None:
    """The overhead of a call was fitted to the two single-step figures; a guard, not evidence."""
    # Keras MNIST tutorial, batch of 64: 166 us with 937 steps in a call, 3 ms with one
    batch = 64 * 28 * 28 * 4
    device = 156e-6
    assert call_time(device, batch, 0, 937, system=M2000).seconds / 937 == pytest.approx(166e-6, rel=0.05)
    single = call_time(device, batch, 0, 1, system=M2000)
    assert single.seconds == pytest.approx(3e-3, rel=0.1)
    assert single.bound == "call"
    # popxl MNIST, batch of 8, one call per step: 306.92 steps/s, of which 0.8 ms is loading
    step = call_time(5e-5, 8 * 784 * 4, 0, system=M2000).seconds + 0.8e-3
    assert 1 / step == pytest.approx(306.92, rel=0.1)


def test_what_sets_the_pace() -> None:
    assert call_time(1.0, 0, 0, system=M2000).bound == "device"
    assert call_time(1e-6, 1e9, 0, 100, system=M2000).bound == "host link"


@pytest.mark.parametrize("wrong", [{"device_iterations": 0}, {"replicas": 0}, {"calls_in_flight": 0}])
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(Error, match="at least one"):
        call_time(1.0, 0, 0, system=M2000, **wrong)
    with pytest.raises(Error, match="negative"):
        call_time(-1.0, 0, 0, system=M2000)


def test_the_call_itself_is_said_with_the_range_of_what_is_published() -> None:
    call = call_time(1e-3, 1e6, 0, 1, system=M2000)
    least, most = CALL_SECONDS_RANGE
    assert least < call.overhead_seconds < most
    assert call.overhead_why.figures["least of published programs"] == least
    # Keras, one step per call against 937: 3 ms and 0.166 ms a step (graphcore/tutorials, tensorflow2/keras)
    assert call.overhead_seconds == pytest.approx(3.0e-3 - 0.166e-3, rel=0.06)
    # popxl, loops over 80 and 8 samples a call: what is left when loading takes as long for each sample
    each = (1 / 95.71 - 1 / 306.92) / 72
    assert call.overhead_seconds == pytest.approx(1 / 306.92 - 8 * each, rel=0.10)
