"""Options: setters, types, freezing, copies, and what is said about options without effect."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from poptorch import enums
from poptorch._options_impl import OptionsDict
from poptorch.options import (
    Options,
    PipelinedExecution,
    ShardedExecution,
    TensorLocationSettings,
    _DistributedOptions,
)
from tremula import log
from tremula.errors import Error
from tremula.settings import popart_options


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch):
    for name in ("POPTORCH_CACHE_DIR", "POPTORCH_DEFAULT_OPTIONS", "POPLAR_ENGINE_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)


def settled() -> Options:
    return Options().outputMode(enums.OutputMode.All)


def test_defaults():
    assert settled().toDict() | {"compilation_progress_bar_fn": None} == {
        "execution_mode": 0,
        "instrumentWithHardwareCycleCounter": False,
        "rearrangeAnchorsOnHost": False,
        "replication_factor": 1,
        "input_group_size": 1,
        "input_cgt": enums.CommGroupType.Consecutive,
        "broadcast_buffers": True,
        "device_iterations": 1,
        "log_dir": ".",
        "max_repeat_logs": 4,
        "auto_round_num_ipus": False,
        "anchored_tensors": {},
        "output_mode": 2,
        "output_return_period": 1,
        "connection_type": 0,
        "sync_pattern": 0,
        "available_memory_proportion": {},
        "gradient_accumulation": 1,
        "accumulation_and_replication_reduction_type": enums.ReductionType.Mean,
        "meanAccumulationAndReplicationReductionStrategy": enums.MeanReductionStrategy.Post,
        "num_distributed_processes": 1,
        "distributed_process_id": 0,
        "ipuof_configs": {},
        "compilation_progress_bar_fn": None,
    }


#: call -> where its value is found afterwards
SETTERS = [
    (lambda o: o.deviceIterations(device_iterations=4), "device_iterations", 4),
    (lambda o: o.replicationFactor(replication_factor=2), "replication_factor", 2),
    (lambda o: o.broadcastBuffers(False), "broadcast_buffers", False),
    (lambda o: o.autoRoundNumIPUs(), "auto_round_num_ipus", True),
    (lambda o: o.outputMode(enums.OutputMode.EveryN, 3), "output_return_period", 3),
    (lambda o: o.outputMode(enums.OutputMode.Sum, 3), "output_mode", 3),
    (lambda o: o.connectionType(enums.ConnectionType.OnDemand), "connection_type", 1),
    (lambda o: o.useOfflineIpuTarget(21), "ipu_version", 21),
    (lambda o: o.useOfflineIpuTarget(), "connection_type", 2),
    (lambda o: o.useIpuModel(True), "use_model", True),
    (lambda o: o.useIpuId(3), "ipu_id", 3),
    (lambda o: o.syncPattern(enums.SyncPattern.SinglePipeline), "sync_pattern", 1),
    (
        lambda o: o.setAvailableMemoryProportion({"IPU0": 0.5, "IPU12": 0.1}),
        "available_memory_proportion",
        {0: 0.5, 12: 0.1},
    ),
    (lambda o: o.randomSeed(7), "random_seed", 7),
    (lambda o: o.logDir("logs"), "log_dir", "logs"),
    (lambda o: o.modelName("bert"), "model_name", "bert"),
    (lambda o: o.maxRepeatLogs(None), "max_repeat_logs", 2**64 - 1),
    (lambda o: o.maxRepeatLogs(1), "max_repeat_logs", 1),
    (lambda o: o.enableStableNorm(True), "enableStableNorm", True),
    (lambda o: o.enableSyntheticData(True), "syntheticDataMode", 2),
    (lambda o: o.enableSyntheticData(False), "syntheticDataMode", 0),
    (lambda o: o.logCycleCount(True), "instrumentWithHardwareCycleCounter", True),
    (lambda o: o.enableExecutableCaching("cache"), "cachePath", "cache"),
    (lambda o: o.enableExecutableCaching("cache"), "enableEngineCaching", True),
    (lambda o: o.enableExecutableCaching(None), "enableEngineCaching", False),
    (lambda o: o.updatableNamedBuffers(["a"]), "updatableNamedBuffers", ["a"]),
    (lambda o: o.setExecutionStrategy(ShardedExecution()), "execution_mode", 1),
]


@pytest.mark.parametrize(("call", "name", "value"), SETTERS)
def test_setters_return_the_options_and_reach_the_dictionary(call, name, value):
    options = settled()
    assert call(options) is options
    dictionary = options.toDict()
    assert dictionary[name] == value
    popart_options.validate(dictionary)


GROUP_SETTERS = [
    (lambda o: o.Training.gradientAccumulation(gradient_accumulation=8), "gradient_accumulation", 8),
    (
        lambda o: o.Training.accumulationAndReplicationReductionType(enums.ReductionType.Sum),
        "accumulation_and_replication_reduction_type",
        enums.ReductionType.Sum,
    ),
    (
        lambda o: o.Training.setMeanAccumulationAndReplicationReductionStrategy(
            enums.MeanReductionStrategy.Running
        ),
        "meanAccumulationAndReplicationReductionStrategy",
        enums.MeanReductionStrategy.Running,
    ),
    (lambda o: o.Training.setAutomaticLossScaling(True), "automaticLossScalingSettings.enabled", True),
    (lambda o: o.Precision.enableStochasticRounding(True), "enableStochasticRounding", True),
    (lambda o: o.Precision.enableFloatingPointExceptions(True), "enableFloatingPointChecks", True),
    (lambda o: o.Precision.setPartialsType(torch.half), "partialsTypeMatMuls", "half"),
    (lambda o: o.Precision.setPartialsType(torch.float), "convolutionOptions", {"partialsType": "float"}),
    (lambda o: o.TensorLocations.numIOTiles(64), "numIOTiles", 64),
    (
        lambda o: o.TensorLocations.setWeightLocation(TensorLocationSettings().useOnChipStorage(False)),
        "location_weight",
        {"onChip": 0},
    ),
    (lambda o: o.Distributed.configureProcessId(2, 4), "distributed_process_id", 2),
    (lambda o: o._Popart.set("autoRecomputation", 3), "autoRecomputation", 3),
    (lambda o: o._Popart.setPatterns({"PadSum": True}, 0), "patterns_level", 0),
]


@pytest.mark.parametrize(("call", "name", "value"), GROUP_SETTERS)
def test_setters_of_groups(call, name, value):
    options = settled()
    group = call(options)
    assert call(options) is group
    dictionary = options.toDict()
    assert dictionary[name] == value
    popart_options.validate(dictionary)


def test_partials_and_dithering_do_not_undo_each_other():
    options = settled()
    options.Precision.setPartialsType(torch.half)
    options.Training.setConvolutionDithering(True)
    assert options.toDict()["convolutionOptions"] == {"partialsType": "half", "enableConvDithering": True}


WRONG = [
    (lambda o: o.deviceIterations("4"), AssertionError),
    (lambda o: o.logDir(3), AssertionError),
    (lambda o: o.set(no_such_option=1), AssertionError),
    (lambda o: setattr(o, "no_such_option", 1), AssertionError),
    (lambda o: setattr(o, "_no_such_attribute", 1), AttributeError),
    (lambda o: o.no_such_option, AttributeError),
    (lambda o: o.outputMode(2), AssertionError),
    (lambda o: o.outputMode(enums.OutputMode.EveryN), AssertionError),
    (lambda o: o.outputMode(enums.OutputMode.EveryN, 0), AssertionError),
    (lambda o: o.connectionType(1), AssertionError),
    (lambda o: o.syncPattern(1), AssertionError),
    (lambda o: o.useIpuId("0"), AssertionError),
    (lambda o: o.randomSeed(0.5), AssertionError),
    (lambda o: o.setExecutionStrategy("pipelined"), AssertionError),
    (lambda o: o.setAvailableMemoryProportion({"0": 0.5}), AssertionError),
    (lambda o: o.setAvailableMemoryProportion({"IPUx": 0.5}), AssertionError),
    (lambda o: o.inputReplicaGrouping(1, enums.CommGroupType.All), ValueError),
    (lambda o: o.inputReplicaGrouping(2, enums.CommGroupType.Consecutive), ValueError),
    (lambda o: o.replicationFactor(4).inputReplicaGrouping(3, enums.CommGroupType.Orthogonal), ValueError),
    (
        lambda o: o.Training.accumulationAndReplicationReductionType(enums.ReductionType.NoReduction),
        ValueError,
    ),
    (lambda o: o.Training.accumulationAndReplicationReductionType(1), ValueError),
    (lambda o: o.Precision.setPartialsType(torch.int32), ValueError),
    (lambda o: o.Precision.enableFloatingPointExceptions(1), AssertionError),
    (lambda o: o.Precision.runningStatisticsAlwaysFloat("yes"), ValueError),
    (lambda o: o.Jit.traceModel(True), ValueError),
    (lambda o: o.TensorLocations.setWeightLocation({"onChip": 1}), AssertionError),
    (lambda o: TensorLocationSettings().useOnChipStorage(1), AssertionError),
    (lambda o: TensorLocationSettings().minElementsForOffChip(1.5), AssertionError),
    (lambda o: o._Popart.setPatterns(["PadSum"]), AssertionError),
]


@pytest.mark.parametrize(("call", "error"), WRONG)
def test_what_is_refused(call, error):
    with pytest.raises(error):
        call(Options())


@given(st.integers(min_value=-10, max_value=300))
def test_io_tiles_are_an_even_number_in_range(number):
    locations = Options().TensorLocations
    if number in range(32, 193, 2):
        assert locations.numIOTiles(number).toDict() == {"numIOTiles": number}
    else:
        with pytest.raises(AssertionError, match=r"numIOTiles must be an even number between 32 and 192\."):
            locations.numIOTiles(number)


@given(st.integers(1, 16), st.integers(-1, 20), st.sampled_from(enums.CommGroupType))
def test_input_groups_divide_the_replicas(replicas, size, kind):
    options = Options().replicationFactor(replicas)
    if kind is enums.CommGroupType.NoGrouping:
        options.inputReplicaGrouping(size, kind)
        assert (options.input_group_size, options.input_cgt) == (1, enums.CommGroupType.Consecutive)
    elif kind is not enums.CommGroupType.All and size > 0 and replicas % size == 0:
        options.inputReplicaGrouping(size, kind)
        assert (options.input_group_size, options.input_cgt) == (size, kind)
    else:
        with pytest.raises(ValueError, match="input_group"):
            options.inputReplicaGrouping(size, kind)


def test_values_are_read_as_attributes_and_by_call():
    options = Options().deviceIterations(3)
    assert options.device_iterations == 3
    assert options("device_iterations") == 3
    assert options.exists("device_iterations")
    assert not options.exists("random_seed")
    options.device_iterations = 5
    assert options.device_iterations == 5
    with pytest.raises(AssertionError):
        options.device_iterations = "5"


def test_an_unsettled_output_mode_does_not_become_a_dictionary():
    assert Options().defaultOutputMode()
    with pytest.raises(AssertionError, match="output mode"):
        Options().toDict()


def test_anchors():
    options = settled()
    options.anchorTensor("a", "long/a")
    options.anchorTensor("b", "long/b", enums.OutputMode.EveryN, 2)
    options.anchorTensor("c", "long/c", enums.OutputMode.Final, 2)
    assert options.anchored_tensors == {
        "a": ["long/a", True, None, 1],
        "b": ["long/b", False, enums.OutputMode.EveryN, 2],
        "c": ["long/c", False, enums.OutputMode.Final, 1],
    }


def test_storage_left_to_the_defaults():
    settings = TensorLocationSettings().useOnChipStorage(True)
    assert settings.toDict() == {"onChip": 1}
    assert settings.useOnChipStorage(None).toDict() == {}
    assert settings.useReplicatedTensorSharding().useIOTilesToLoad(False).toDict() == {
        "useReplicatedTensorSharding": 1,
        "useIOTilesToLoad": 0,
    }


def test_random_seed_seeds_torch_too():
    Options().randomSeed(3)
    first = torch.rand(2)
    Options().randomSeed(3)
    assert torch.equal(first, torch.rand(2))


FROZEN = [
    lambda o: o.deviceIterations(2),
    lambda o: o.randomSeed(2),
    lambda o: o.useIpuId(2),
    lambda o: o.Training.gradientAccumulation(2),
    lambda o: o.Training.setAutomaticLossScaling(True),
    lambda o: o.Precision.setPartialsType(torch.half),
    lambda o: o.TensorLocations.numIOTiles(32),
    lambda o: o.Distributed.disable(),
    lambda o: o._Popart.set("autoRecomputation", 1),
    lambda o: o.anchorTensor("a", "b"),
    lambda o: o.enableProfiling(),
    lambda o: o.disableModuleNamescope(),
    lambda o: o.appendToLocationExcludes("x"),
    lambda o: o.setExecutionStrategy(PipelinedExecution()),
]


@pytest.mark.parametrize("change", FROZEN)
def test_frozen_options_do_not_change_but_their_copies_do(change):
    options = Options()
    options._freeze()
    before = repr(options)
    state = torch.get_rng_state()
    with pytest.raises(AttributeError, match="Can't modify frozen Options"):
        change(options)
    assert repr(options) == before
    assert torch.equal(state, torch.get_rng_state())
    change(options.clone())
    change(copy.deepcopy(options))
    options._unfreeze()
    change(options)


def test_copies_share_nothing():
    options = settled()
    options.anchorTensor("a", "b")
    options.Training.gradientAccumulation(4)
    other = options.clone()
    other.anchorTensor("c", "d")
    other.Training.gradientAccumulation(2)
    other.Precision.enableStochasticRounding(True)
    assert "c" not in options.anchored_tensors
    assert options.Training.gradient_accumulation == 4
    assert "enableStochasticRounding" not in options._Popart.options
    assert other._Popart.options["enableStochasticRounding"] is True


def test_pickle_keeps_everything():
    options = settled().deviceIterations(3).useIpuModel(True)
    options.Precision.setPartialsType(torch.half)
    options._freeze()
    again = pickle.loads(pickle.dumps(options))  # noqa: S301 (made two lines above)
    assert repr(again) == repr(options)
    with pytest.raises(AttributeError):
        again.deviceIterations(2)


def test_repr_names_values_and_groups():
    text = repr(Options().replicationFactor(4))
    assert text.startswith("Options(")
    for part in ("replication_factor=4", "gradient_accumulation=1", "distributed_process_id=0"):
        assert part in text
    assert "0x" not in text


def test_groups_can_be_given_another_class():
    class Wrapped(_DistributedOptions):
        def disable(self):
            raise RuntimeError("not here")

    options = Options()
    options.Distributed.__class__ = Wrapped
    with pytest.raises(RuntimeError):
        options.Distributed.disable()
    assert options.Distributed.numProcesses == 1


def test_subclasses_may_bring_attributes_of_their_own():
    class Mine(Options):
        def __init__(self):
            self._mine = 1
            super().__init__()

    options = Mine()
    options._mine = 2
    assert options.clone()._mine == 2
    assert repr(options).startswith("Mine(")


def test_two_groups_cannot_have_one_option():
    with pytest.raises(AssertionError, match="two places"):
        OptionsDict(a=1).update({"a": 2})


def test_the_process_comes_from_mpi(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    options = Options()
    assert (options.Distributed.processId, options.Distributed.numProcesses) == (3, 4)
    assert options.Distributed.disable().numProcesses == 1
    monkeypatch.setenv("MY_RANK", "one")
    with pytest.raises(Error, match="MY_RANK"):
        options.Distributed.setEnvVarNames("MY_SIZE", "MY_RANK")


def test_the_cache_folder_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("POPTORCH_CACHE_DIR", "/somewhere")
    assert Options()._Popart.options["cachePath"] == "/somewhere"


def test_profiling(monkeypatch, caplog):
    options = settled()
    options._Popart.setEngineOptions({"opt.useAutoloader": "true"})
    options.enableProfiling("reports")
    assert options._Popart.options["engineOptions"] == {
        "opt.useAutoloader": "true",
        "debug.allowOutOfMemory": "true",
        "autoReport.directory": "reports",
        "autoReport.all": "true",
    }
    assert "POPLAR_ENGINE_OPTIONS" not in caplog.text
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"autoReport.directory": "elsewhere"}')
    options.enableProfiling("reports")
    assert "autoReport.directory" in caplog.text


@pytest.mark.parametrize(
    "call",
    [
        lambda o: o.Jit.traceModel(False),
        lambda o: o.Precision.halfFloatCasting(enums.HalfFloatCastingBehavior.Default),
        lambda o: o.Precision.runningStatisticsAlwaysFloat(True),
    ],
)
def test_deprecated_calls_say_so(call, caplog):
    call(Options())
    assert "[Deprecated]" in caplog.text


class TestOptionsWithoutEffect:
    @pytest.fixture(autouse=True)
    def fresh(self):
        log.forget_once()
        with log.levels_restored():
            log.set_level("poptorch", "INFO")
            yield
        log.forget_once()

    @staticmethod
    def lines(options, capfd) -> list[str]:
        options._report_options_without_effect()
        return capfd.readouterr().err.splitlines()

    def test_nothing_set_nothing_said(self, capfd):
        assert self.lines(Options(), capfd) == []

    def test_honoured_options_are_not_mentioned(self, capfd):
        options = Options().deviceIterations(4).replicationFactor(2)
        options.Training.gradientAccumulation(4)
        options.Precision.setPartialsType(torch.half)
        assert self.lines(options, capfd) == []

    @pytest.mark.parametrize(
        ("call", "name"),
        [
            (lambda o: o.syncPattern(enums.SyncPattern.SinglePipeline), "Options.syncPattern"),
            (lambda o: o.Training.setConvolutionDithering(True), "Options.Training.setConvolutionDithering"),
            (lambda o: o._Popart.set("timeLimitScheduler", 1.0), "timeLimitScheduler"),
            (lambda o: o._Popart.setPatterns({"PadSum": True}), "patterns"),
            (lambda o: o._Popart.setEngineOptions({"target.syncMethod": "polling"}), "target.syncMethod"),
        ],
    )
    def test_a_warning_comes_once_and_names_the_option(self, call, name, capfd):
        options = Options()
        call(options)
        (line,) = self.lines(options, capfd)
        assert "[warning]" in line
        assert name in line
        assert self.lines(options, capfd) == []

    @pytest.mark.parametrize(
        ("call", "name"),
        [
            (lambda o: o.setAvailableMemoryProportion({"IPU0": 0.2}), "setAvailableMemoryProportion"),
            (lambda o: o.TensorLocations.numIOTiles(32), "numIOTiles"),
            (lambda o: o._Popart.set("autoRecomputation", 3), "autoRecomputation"),
        ],
    )
    def test_what_the_chip_model_will_use_is_said_at_info(self, call, name, capfd):
        options = Options()
        call(options)
        (line,) = self.lines(options, capfd)
        assert "[info]" in line
        assert name in line

    def test_variables_without_effect(self, monkeypatch, capfd):
        monkeypatch.setenv("POPLAR_TARGET_OPTIONS", "{}")
        monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"target.syncPollPeriodUs": "60"}')
        monkeypatch.setenv("POPLAR_RUNTIME_OPTIONS", '{"streamCallbacks.numaAware": "true"}')
        lines = self.lines(Options(), capfd)
        names = ("POPLAR_TARGET_OPTIONS", "target.syncPollPeriodUs", "streamCallbacks.numaAware")
        assert [name in line for name, line in zip(names, lines, strict=True)] == [True] * 3
