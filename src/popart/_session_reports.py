"""Reports of sessions about the device: profiles, summaries and cycles. All figures are modelled and marked so."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tremula import log

from ._enums import (
    DeviceType,
    Instrumentation,
    RecomputationType,
    ReplicatedTensorSharding,
    SyntheticDataMode,
    TensorStorage,
    VirtualGraphMode,
)
from ._exceptions import popart_errors, popart_exception, poplar_exception

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.frontends.onnx.placing import Placed
    from tremula.frontends.onnx.run.session import GraphSession
    from tremula.schedule.deployment import Deployment, Location

    from ._data_flow import DataFlow
    from ._devices import DeviceInfo
    from ._session_options import SessionOptions
    from ._tensor_locations import TensorLocationSettings

#: what is computed again, in the chip model's words
_RECOMPUTE = {
    RecomputationType.NoRecompute: "none",
    RecomputationType.Standard: "checkpoints",
    RecomputationType.NormOnly: "norms",
    RecomputationType.Pipeline: "checkpoints",
    RecomputationType.RecomputeAll: "checkpoints",
}


class SessionReports:
    """Reports of a session."""

    _session: GraphSession
    _device: DeviceInfo
    _options: SessionOptions
    _data_flow: DataFlow
    _name: str
    _has_run = False
    _from_executable: bool
    _modelled: ModelledRun | None = None
    _report_folder: str | None = None

    def getCycleCount(self, id: str = "") -> int:
        """Cycles of the last run, modelled."""
        if not self._options.instrumentWithHardwareCycleCounter:
            raise popart_exception(
                "SessionOption 'instrumentWithHardwareCycleCounter' must be set to True before the session is created: "
                "otherwise no cycles are counted."
            )
        if id and Instrumentation.Inner not in self._options.hardwareInstrumentations:
            raise popart_exception(
                f"There is no cycle count {id!r}. Make sure you have set SessionOption::hardwareInstrumentations "
                "correctly."
            )
        if not self._has_run:
            raise popart_exception("Must call run before getCycleCount.")
        with popart_errors():
            cycles = self._chip().cycles_per_call()
        if id:
            cycles = max(1, cycles // self._data_flow.batchesPerStep())
        log.info_once(
            "popart cycles", "getCycleCount gives modelled cycles; nothing is measured on an IPU here."
        )
        return cycles

    def getSummaryReport(self, resetProfile: bool = True) -> str:
        """The profile as text."""
        from tremula.profile.reader import Profile
        from tremula.view.summary import summary

        with Profile(self._report()) as profile:
            return str(summary(profile, full=True))

    def getReport(self) -> Any:
        """The profile as libpva opens it."""
        import pva

        return pva.openReport(str(self._report()))

    def getSerializedGraph(self) -> bytes:
        """Not available: there is no serialised graph here."""
        self._check_report()
        raise popart_exception(
            "There is no serialised Poplar graph, because nothing is compiled for tiles. Use getReport for the "
            "modelled placement and _serializeIr for the ops."
        )

    def _check_report(self) -> None:
        if not self._session.prepared:
            raise popart_exception("Session must have been prepared before a report can be fetched")
        if not self._options.compileEngine:
            raise popart_exception(
                "compileEngine is off. Session must have been prepared before a report can be fetched"
            )
        if self._device.type is DeviceType.Cpu:
            raise poplar_exception("Profiling is disabled for current device type.")
        if self._from_executable:
            raise popart_exception("Unable to get reports when using a cached executable.")

    def _report(self) -> Path:
        self._check_report()
        from tremula.recording import write_profile

        if self._report_folder is None:
            self._report_folder = tempfile.mkdtemp(prefix="tremula-popart-")
            weakref.finalize(self, shutil.rmtree, self._report_folder, ignore_errors=True)
        path = Path(self._report_folder) / "profile.pop"
        with popart_errors():
            write_profile(
                self._chip().estimate,
                path,
                engine_options=self._options.engineOptions,
                run={"model": self._name},
                layer="popart",
            )
        directory = self._options.engineOptions.get("autoReport.directory")
        if directory:
            folder = Path(directory).expanduser() / self._name
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / "profile.pop")
        return path

    def _chip(self) -> ModelledRun:
        """The program as the chip model sees it."""
        if self._modelled is None:
            from tremula.frontends.onnx.placing import placed
            from tremula.frontends.onnx.run.modelled import modelled_run

            session = self._session
            description = None if session.updater is None else session.updater.description
            options = self._options
            mode = options.virtualGraphMode
            where = placed(
                session.program.model.graph.all_nodes(),
                manual=mode is VirtualGraphMode.Manual,
                pipelined=bool(options.enablePipelining),
                phased=mode is VirtualGraphMode.ExecutionPhases,
            )
            if mode is VirtualGraphMode.Auto:
                log.no_effect("VirtualGraphMode.Auto", "nothing is placed; figures are those of one IPU")
            deployment = _deployment(options, where)
            self._modelled = modelled_run(
                session.program, session.turns, description, deployment, where, session.share.total
            )
        return self._modelled


def _deployment(options: SessionOptions, where: Placed) -> Deployment:
    """The options that the chip model follows."""
    from tremula.schedule.deployment import Deployment

    return Deployment(
        execution=where.execution,
        ipus_per_replica=where.ipus,
        recompute=_RECOMPUTE[options.autoRecomputation],
        partials="fp16" if options.partialsTypeMatMuls.lower() == "half" else "fp32",
        weights=_location(options.weightTensorLocationSettings),
        optimizer_state=_location(options.optimizerStateTensorLocationSettings),
        accumulators=_location(options.accumulatorTensorLocationSettings),
        activations=_location(options.activationTensorLocationSettings),
        io_tiles=options.numIOTiles,
        prefetch_depth=max(1, options.defaultBufferingDepth),
        synthetic_data=options.syntheticDataMode is not SyntheticDataMode.Off,
    )


def _location(settings: TensorLocationSettings) -> Location:
    from tremula.schedule.deployment import Location

    where = settings.location
    return Location(
        on_chip=where.storage is TensorStorage.OnChip,
        sharded=where.replicatedTensorSharding is ReplicatedTensorSharding.On,
        smallest_elements=settings.minElementsForReplicatedTensorSharding,
    )
