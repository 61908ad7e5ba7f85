"""How PopTorch speaks of devices: the texts and log layers that its users look for."""

from __future__ import annotations

from tremula import __version__
from tremula.device.settings import DeviceWords

DEVICE_LAYER = "poptorch:cpp"

WORDS = DeviceWords(
    error_type="poptorch_py_error",
    device_layer=DEVICE_LAYER,
    logger="poptorch::python",
    # programs that time compilations by the log (as examples-utils does) count from the first line
    begins=(("popart:session", f"Popart version: none; this is Tremula {__version__}"),),
    captured=(
        ("popart:devicex", "Poplar graph initialised"),
        ("popart:devicex", "Starting compilation"),
    ),
    stack="PopTorch",
    round_up_option="poptorch.Options().autoRoundNumIPUs(True)",
    own_holder="another model of this process; call detachFromDevice() on it",
    not_compiled="Model has not been compiled or has been destroyed.",
    attached="Device is already attached",
    detached="Device is not attached",
    offline="Trying to attach to an offline device (ConnectionType.Never)",
    cycles_need_hardware=(
        "Cycle count logging is only supported on actual IPU hardware, and this program runs on an IPU model. "
        "Leave out useIpuModel, POPTORCH_IPU_MODEL and TREMULA_VIRTUAL_IPUS=0, or logCycleCount."
    ),
)
