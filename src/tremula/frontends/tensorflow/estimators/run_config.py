"""How an estimator runs: the stock `RunConfig`, and with it how many IPUs it uses and how often a program loops."""

from __future__ import annotations

from typing import Any, NamedTuple

from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
from tremula.frontends.tensorflow.estimators.stock import run_config


class _Fields(NamedTuple):
    iterations_per_loop: int
    ipu_options: Any
    num_replicas: int
    num_shards: int
    ordinal: int
    prefetch_depth: int | None


class IPURunConfig(_Fields):
    """What an estimator needs to know about IPUs.

    Args:
        iterations_per_loop: how many batches each replica takes in one run of the session. The global step grows by
            this number with each run.
        ipu_options: an `IPUConfig`; the estimator configures the IPUs with it before it builds a model. None: the
            program has configured one IPU, or none.
        num_replicas: how many copies of the model there are.
        num_shards: over how many IPUs one copy is spread.
        ordinal: the device: 0 for `/device:IPU:0`.
        prefetch_depth: how many batches are fetched ahead; None for the default of infeed queues.

    Raises:
        TypeError: `ipu_options` is no `IPUConfig`.
        ValueError: a number is too small, there is no such device, or it has another number of IPUs.
    """

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: int = 1,
        ipu_options: Any = None,
        num_replicas: int = 1,
        num_shards: int = 1,
        ordinal: int = 0,
        prefetch_depth: int | None = None,
    ) -> IPURunConfig:
        for name, value in (
            ("iterations_per_loop", iterations_per_loop),
            ("num_replicas", num_replicas),
            ("num_shards", num_shards),
        ):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, and it is {value}.")
        fields = (iterations_per_loop, ipu_options, num_replicas, num_shards, ordinal, prefetch_depth)
        config = super().__new__(cls, *fields)
        config._check_options()
        return config

    @property
    def device(self) -> str:
        """The name of the device."""
        return f"/device:IPU:{self.ordinal}"

    def check_ipus(self, configured: int) -> None:
        """Refuse a device that has more or fewer IPUs than all replicas need.

        Raises:
            ValueError: with both numbers.
        """
        needed = self.num_replicas * self.num_shards
        if needed != configured:
            raise ValueError(
                f"`IPURunConfig` configured with {needed} devices ({self.num_replicas} replicas times "
                f"{self.num_shards} shards), but `IpuOptions` configured with {configured} devices. Make "
                f"num_replicas * num_shards the number of IPUs of {self.device}."
            )

    def _check_options(self) -> None:
        if self.ipu_options is None:
            if self.num_replicas * self.num_shards > 1:
                raise ValueError(
                    "The IPU configuration requires more than one device, but `ipu_options` is None. Pass an IPUConfig "
                    f"with auto_select_ipus = {self.num_replicas * self.num_shards}."
                )
            return
        if not isinstance(self.ipu_options, IPUConfig):
            raise TypeError(
                f"ipu_options must be an IPUConfig instance, not {type(self.ipu_options).__name__}."
            )
        devices = self.ipu_options._create_protobuf().device_config
        if not 0 <= self.ordinal < len(devices):
            raise ValueError(
                f"There is no device with the ordinal {self.ordinal}: `ipu_options` has {len(devices)} device(s). Set "
                "auto_select_ipus of the IPUConfig: a number, or a list with a number for each device."
            )
        # how many IPUs a device of `select_ipus` has is known when it is configured
        if devices[self.ordinal].auto_count:
            self.check_ipus(devices[self.ordinal].auto_count)


class RunConfig(run_config.RunConfig):
    """A stock `RunConfig` that also says how IPUs are used.

    Args:
        ipu_run_config: an `IPURunConfig`; one IPU and one iteration by default.
        master: address of the master of a cluster.
        **kwargs: arguments of the stock class.
    """

    def __init__(
        self, ipu_run_config: IPURunConfig | None = None, master: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._ipu_run_config = ipu_run_config or IPURunConfig()
        if master is not None:
            self._master = master

    @property
    def ipu_run_config(self) -> IPURunConfig:
        """How IPUs are used."""
        return self._ipu_run_config

    @property
    def master(self) -> str:
        """The address of the master of a cluster; empty without one."""
        return str(self._master)
