"""Executables of sessions: saved to files, loaded from them, and kept in the folder of the engine cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tremula import log
from tremula.device.profile import FILE_NAME, ProfileFile
from tremula.errors import Error
from tremula.formatting import counted
from tremula.frontends.onnx.run import executables
from tremula.settings.session_options import BY_NAME

from ._enums import DeviceType
from ._exceptions import popart_errors, popart_exception

if TYPE_CHECKING:
    from tremula.device.settings import DeviceSettings
    from tremula.frontends.onnx.run.executables import Identity
    from tremula.frontends.onnx.run.on_device import OnDevice
    from tremula.frontends.onnx.run.session import GraphSession

    from ._devices import DeviceInfo
    from ._patterns import Patterns
    from ._session_options import SessionOptions

_LOG = log.layer("popart:session")
_EXECUTABLE, _VARIABLES = "executable.popef", "variables.popef"
#: say where something is kept, and nothing about the program; engine options are looked at one by one
_NOT_OF_THE_PROGRAM = ("cachePath", "enableEngineCaching", "enableVariablesCaching", "engineOptions")
_REPORTS = ("autoReport.", "debug.", "profiler.")


class SessionExecutables:
    """Executables of a session."""

    _session: GraphSession
    _device: DeviceInfo
    _options: SessionOptions
    _patterns: Patterns
    _model_source: bytes | str | os.PathLike[str]
    _name: str
    #: the executable came from a file
    _loaded = False
    #: the session was prepared from an executable
    _from_executable = False

    _on_device: OnDevice | None

    def _compile(self, loadEngine: bool) -> None:
        raise NotImplementedError

    def _device_settings(self) -> DeviceSettings:
        raise NotImplementedError

    def compileAndExport(self, filename: str | os.PathLike[str]) -> None:
        """Compile, without a device, and save the executable: to a file, or to executable.popef in a folder."""
        self._check_can_be_saved()
        if not self._session.prepared:
            self._compile(loadEngine=False)
        self.saveExecutable(filename)

    def saveExecutable(
        self, path: str | os.PathLike[str], savePopartMetadata: bool = True, saveVariables: bool = True
    ) -> None:
        """Save what the session runs, and its variables; loadExecutable needs the metadata."""
        self._check_prepared()
        with popart_errors():
            variables = self._variables() if saveVariables and self._options.enableVariablesCaching else None
            identity = self._identity() if savePopartMetadata else None
            executables.write(_place(path, _EXECUTABLE), identity, variables)

    def saveVariables(self, path: str | os.PathLike[str]) -> None:
        """Save weights and optimizer state alone: to a file, or to variables.popef in a folder."""
        self._check_prepared()
        with popart_errors():
            executables.write(_place(path, _VARIABLES), None, self._variables())

    def loadExecutable(self, filename: str | os.PathLike[str]) -> None:
        """Take over an executable of the same program: `prepareDevice` uses it, and the host has its variables.

        Of a folder, executable.popef is loaded, and variables.popef if there is one.
        """
        self._check_can_be_saved()
        path = os.path.expanduser(os.fspath(filename))
        beside = os.path.join(path, _VARIABLES)
        if os.path.isdir(path):
            path = os.path.join(path, _EXECUTABLE)
        with popart_errors():
            _LOG.info("Loading serialized PopART executable from %s", path)
            variables = executables.read(path, self._identity())
            if os.path.exists(beside):
                path, variables = beside, executables.read_variables(beside)
            if variables is not None:
                executables.take_variables(self._session, variables, path)
        self._loaded = True

    def _find_executable(self) -> None:
        """Find out whether an executable was loaded, or is in the cache."""
        self._from_executable = self._loaded
        if self._loaded or not self._caches():
            return
        cache = executables.cache_in(self._options.cachePath)
        self._from_executable = executables.is_kept(cache, self._identity())
        if self._from_executable:
            _LOG.info("Loading serialized PopART executable from %s", cache.root)
        else:
            _LOG.info("No PopART executable of this program in %s", cache.root)

    def _keep_executable(self) -> None:
        """Put the executable and its profile into the cache, where caching is on and it is not there."""
        if self._from_executable or not self._caches():
            return
        nodes = counted(len(self._session.program.model.graph.nodes), "node")
        about = f"PopART session {self._name}, {nodes}"
        cache = executables.cache_in(self._options.cachePath)
        executables.keep(cache, self._identity(), about)
        self._keep_profile(cache.root)

    def _keep_profile(self, folder: Path) -> None:
        """Write a profile without runs into the cache's folder, if one is asked for."""
        modelled = None if self._on_device is None else self._on_device.device.modelled
        profile = ProfileFile(self._device_settings())
        if modelled is None or not profile.graph:
            return
        # imported here, because it takes a moment and programs without a profile do not need it
        from tremula.recording import write_profile

        try:
            write_profile(
                modelled.estimate,
                folder / profile.path.parent.name / FILE_NAME,
                engine_options=self._options.engineOptions,
                run={"model": self._name},
                execution=False,
                layer="popart",
            )
            _LOG.info("Storing profiles to cache: %s", folder)
        except Error as problem:
            _LOG.warning("No profile in the cache: %s", problem.message)

    def _caches(self) -> bool:
        if not self._options.enableEngineCaching:
            return False
        if self._device.type in (DeviceType.Ipu, DeviceType.OfflineIpu):
            return True
        log.info_once(
            "popart engine caching without IPUs",
            "SessionOptions.enableEngineCaching keeps compiled code of this session, but no executable: these are kept "
            "for IPUs, and this device is none.",
        )
        return False

    def _identity(self) -> Identity:
        """What the session runs."""
        options = self._options
        settings = {
            "session": type(self).__name__,
            "optimizer": None if self._session.updater is None else self._session.updater.description,
            "IPUs": self._device.numIpus,
            "enabled patterns": self._patterns.enabled(),
            "engine options": {
                name: str(value)
                for name, value in options.engineOptions.items()
                if not name.startswith(_REPORTS)
            },
            **{
                f"option {name}": getattr(options, name)
                for name in options.changed()
                if name not in _NOT_OF_THE_PROGRAM and not BY_NAME[name].effect.startswith("no effect")
            },
        }
        return executables.identity_of(self._model_source, self._session, settings)

    def _variables(self) -> dict[str, Any]:
        """Weights and optimizer state as the device has them."""
        if self._session.device:
            self._session.weights_to_host()
        return executables.variables_of(self._session)

    def _check_can_be_saved(self) -> None:
        if self._device.type is DeviceType.IpuModel:
            raise popart_exception("Executables for device type ipu-model cannot be saved")

    def _check_prepared(self) -> None:
        self._check_can_be_saved()
        if not self._session.prepared:
            raise popart_exception("There is no executable to save yet: call prepareDevice() first.")


def _place(path: str | os.PathLike[str], name: str) -> str:
    """The file to write: `name` in a folder, or the file itself, whose folder is made."""
    place = Path(path).expanduser()
    if place.is_dir():
        return str(place / name)
    place.parent.mkdir(parents=True, exist_ok=True)
    return str(place)
