"""Ops about devices and their configuration."""

from tremula.frontends.tensorflow.config.driver_ops import (
    ipu_clear_all_xla_compilation_caches,
    ipu_configure_hardware,
    ipu_event_trace,
    ipu_get_configuration,
    ipu_get_num_devices,
    ipu_reset_devices,
    ipu_reset_seed,
    ipu_use_synthetic_data_for,
)

__all__ = [
    "ipu_clear_all_xla_compilation_caches",
    "ipu_configure_hardware",
    "ipu_event_trace",
    "ipu_get_configuration",
    "ipu_get_num_devices",
    "ipu_reset_devices",
    "ipu_reset_seed",
    "ipu_use_synthetic_data_for",
]
