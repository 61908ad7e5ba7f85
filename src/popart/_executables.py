"""Executables of PopART sessions and of PopXL programs: saved to files, loaded, and kept in the cache's folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tremula import log
from tremula.device.profile import FILE_NAME, ProfileFile
from tremula.errors import Error
from tremula.frontends.sessions import executables
from tremula.settings import env

from ._enums import DeviceType
from ._exceptions import popart_errors, popart_exception

if TYPE_CHECKING:
    import torch

    from tremula.frontends.sessions.executables import Identity
    from tremula.frontends.sessions.on_device import OnDevice

    from ._session_options import SessionOptions

_LOG = log.layer("popart:session")
_EXECUTABLE, _VARIABLES = "executable.popef", "variables.popef"


class Executables:
    """Executables of a session; its own class says what it runs and which variables it has."""

    #: the executable came from a file
    _loaded = False
    #: the session was prepared from an executable
    _from_executable = False
    _options: SessionOptions
    _on_device: OnDevice | None
    _name: str

    # -- what the session is asked --------------------------------------------------------------------------

    @property
    def _device_type(self) -> DeviceType:
        raise NotImplementedError

    @property
    def _is_prepared(self) -> bool:
        raise NotImplementedError

    def _compile(self, loadEngine: bool) -> None:
        raise NotImplementedError

    def _identity(self) -> Identity:
        """The program of the session."""
        raise NotImplementedError

    def _variables(self) -> dict[str, torch.Tensor]:
        """Weights and optimizer state as the device has them."""
        raise NotImplementedError

    def _take_variables(self, values: Mapping[str, torch.Tensor], path: str) -> None:
        """Make the values of a file the host's; raises Error if they are not those of this session."""
        raise NotImplementedError

    # -- files ----------------------------------------------------------------------------------------------

    def compileAndExport(self, filename: str | os.PathLike[str]) -> None:
        """Compile, without a device, and save the executable: to a file, or to executable.popef in a folder."""
        self._check_can_be_saved()
        if not self._is_prepared:
            self._compile(loadEngine=False)
        self.saveExecutable(filename)

    def saveExecutable(
        self, path: str | os.PathLike[str], savePopartMetadata: bool = True, saveVariables: bool = True
    ) -> None:
        """Save the program of the session, and its variables. `loadExecutable` needs the metadata."""
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
        """Load an executable of the same program. `prepareDevice` uses it, and the host gets its variables.

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
                self._take_variables(variables, path)
        self._loaded = True

    def _check_can_be_saved(self) -> None:
        if self._device_type is DeviceType.IpuModel:
            raise popart_exception("Executables for device type ipu-model cannot be saved")

    def _check_prepared(self) -> None:
        self._check_can_be_saved()
        if not self._is_prepared:
            raise popart_exception("There is no executable to save yet: call prepareDevice() first.")

    # -- the cache ------------------------------------------------------------------------------------------

    def _find_executable(self) -> None:
        """Find out whether an executable was loaded, or is in the cache."""
        self._from_executable = self._loaded
        if self._loaded or not self._caches():
            return
        cache, identity = executables.cache_in(self._options.cachePath), self._identity()
        own = executables.kept_file(cache, identity)
        for path, key in executables.files_of(cache):
            if key is None:
                _LOG.info(
                    "Ignoring cache file because it does not contain a program's key in its name: %s", path
                )
            else:
                _LOG.debug("PopEF file inferred to have hash '%s' has been found: %s", key, path)
        self._from_executable = executables.is_kept(cache, identity)
        if self._from_executable:
            _LOG.info("Loading serialized PopART executable from %s", own)
            if env.get("POPART_PRELOAD_POPEF"):
                _LOG.debug("Completed preload of popef file %s", own)
            return
        if own.exists():
            _LOG.warning(
                "Cache file hash did not match the IR hash: %s belongs to another program, or is damaged.",
                own,
            )
        _LOG.info("No PopART executable of this program in %s", cache.root)

    def _keep_executable(self, about: str) -> None:
        """Put the executable and its profile into the cache, where caching is on and it is not there."""
        if self._from_executable or not self._caches():
            return
        cache = executables.cache_in(self._options.cachePath)
        executables.keep(cache, self._identity(), about)
        self._keep_profile(cache.root)

    def _keep_profile(self, folder: Path) -> None:
        """Write a profile without runs into the cache's folder, if one is asked for."""
        if self._on_device is None:
            return
        modelled = self._on_device.device.modelled
        profile = ProfileFile(self._on_device.device.settings)
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
        if self._device_type in (DeviceType.Ipu, DeviceType.OfflineIpu):
            return True
        log.info_once(
            "popart engine caching without IPUs",
            "SessionOptions.enableEngineCaching keeps compiled code of this session, but no executable, because the "
            "device is not an IPU.",
        )
        return False


def _place(path: str | os.PathLike[str], name: str) -> str:
    """The file to write: `name` in a folder, or the file itself, whose folder is made."""
    place = Path(path).expanduser()
    if place.is_dir():
        return str(place / name)
    place.parent.mkdir(parents=True, exist_ok=True)
    return str(place)
