"""The messages are those that programs of the older interface read and write."""

from __future__ import annotations

import pytest

from tremula.frontends.tensorflow.config import enums, messages, older_interface
from tremula.frontends.tensorflow.config.ipu_config import from_message
from tremula.frontends.tensorflow.config.wire_format import Schema


@pytest.mark.parametrize(
    ("make", "wire"),
    [
        (lambda: messages.IpuOptions(clear_matmul_pass_type=True), b"\x48\x01"),
        (lambda: messages.IpuOptions(ipu_version="ipu2"), b"\xca\x01\x04ipu2"),
        (lambda: messages.IpuOptions(device_config=[{"auto_count": 2}]), b"\x22\x02\x08\x02"),
        (lambda: messages.IpuOptions(device_config=[{"cfg_index": 0}]), b"\x22\x02\x10\x00"),
        (
            lambda: messages.IpuTraceEvent(type=5, execute={"module_name": b"m"}),
            b"\x18\x05\x4a\x03\x12\x01m",
        ),
    ],
)
def test_the_bytes_follow_from_numbers_and_types_of_fields(make, wire):
    message = make()
    assert message.SerializeToString(deterministic=True) == wire
    assert type(message).FromString(wire) == message


def test_enumerations_have_their_public_numbers():
    assert [each.value for each in enums.DeviceConnectionType] == [0, 1, 3, 2]
    assert [each.value for each in enums.MergeRemoteBuffersBehaviour] == [0, 1, 2]
    assert [each.value for each in enums.SelectionOrder] == [0, 1, 2, 3]
    assert messages.SyntheticDataCategory.Name(3) == "HostEmbedding"
    assert messages.IpuTraceEvent.LOAD_ENGINE == 4
    assert enums.StochasticRoundingBehaviour.from_bool(True) is enums.StochasticRoundingBehaviour.ON


def test_a_schema_has_lists_alternatives_and_inner_messages():
    rows = "1 repeated A.B many\n2 A.E e\n3 oneof:o string s\n4 oneof:o int32 i"
    schema = Schema("t.proto", "t", {"A.E": "X Y"}, {"A": rows, "A.B": "1 double d"})
    message = schema.message("A")(many=[{"d": 1.5}], e="Y", s="s")
    message.i = 3
    assert message.WhichOneof("o") == "i"
    assert (message.many[0].d, message.e, message.s) == (1.5, schema.enum("A.E").Y, "")


def test_older_programs_fill_a_message_step_by_step():
    opts = older_interface.create_ipu_config(
        profiling=True, profile_execution=True, scheduler_selection="LookAhead"
    )
    opts = older_interface.auto_select_ipus(opts, [2, 4])
    opts = older_interface.set_matmul_options(opts, {"partialsType": "half"}, clear_pass_type=True)
    opts = older_interface.set_floating_point_behaviour_options(opts, esr=False)
    opts = older_interface.set_ipu_connection_type(opts, enums.DeviceConnectionType.NEVER, ipu_version=2)
    config = from_message(opts)
    assert config.auto_select_ipus == [2, 4]
    assert config.matmuls.poplar_options == {"partialsType": "half"}
    assert config.matmuls.clear_pass_type
    assert config.floating_point_behaviour.inv
    assert config.floating_point_behaviour.esr is enums.StochasticRoundingBehaviour.OFF
    assert config.device_connection.version == "ipu2"
    assert config.scheduling.algorithm is enums.SchedulingAlgorithm.LOOK_AHEAD
    assert opts.profiling.execution_trace_type == enums.ExecutionProfileType.DEVICE_PROFILE.value


@pytest.mark.parametrize(
    "act",
    [
        lambda old, _: old.create_ipu_config(profiling=True, enable_ipu_events=True),
        lambda old, _: old.create_ipu_config(profile_execution=True),
        lambda old, _: old.create_ipu_config(profile_execution="all"),
        lambda old, _: old.create_ipu_config(scheduler_selection="best"),
        lambda old, opts: old.auto_select_ipus(old.auto_select_ipus(opts, 1), 1),
        lambda old, opts: old.auto_select_ipus(opts, True),
        lambda old, opts: old.select_ipus(opts, 1),
        lambda old, opts: old.select_ipus(opts, [1, 1]),
        lambda old, opts: old.set_convolution_options(opts, ["a"]),
        lambda old, opts: old.set_norm_options(
            opts, experimental_distributed_batch_norm_replica_group_size=0
        ),
        lambda old, opts: old.set_io_tile_options(opts, 0, place_ops_on_io_tiles=True),
        lambda old, opts: old.set_ipu_connection_type(opts, enums.DeviceConnectionType.NEVER),
        lambda old, opts: old.set_experimental_multi_replica_distribution_options(opts, 2, 2),
    ],
)
def test_wrong_steps_are_refused(act):
    with pytest.raises((TypeError, ValueError)):
        act(older_interface, older_interface.create_ipu_config())
