"""How TensorFlow programs speak of devices: the texts and log layers of this front end."""

from __future__ import annotations

from tremula.device.settings import DeviceWords

#: what programs that were made in an IPUStrategy are called in the record of runs
KIND = "IPUStrategy"

WORDS = DeviceWords(
    error_type="tensorflow_ipu",
    device_layer="tremula",
    logger="tremula",
    stack="TensorFlow",
    round_up_option="a power of two in auto_select_ipus",
    own_holder=(
        "another device of this process; ask for fewer IPUs in auto_select_ipus, or call reset_ipu_configuration()"
    ),
    offline=(
        "The device was configured for compilation only (DeviceConnectionType.NEVER), so nothing can run on it. "
        "Configure it with DeviceConnectionType.ALWAYS or ON_DEMAND."
    ),
)

#: said at the end of a program of a model that never ran; the record of runs holds 200 characters
#: how programs of sessions are called in the record of a process
COMPILED_KIND = "ipu_compiler.compile"
COMPILED_NEVER_RAN = (
    "was compiled for an IPU but no session ran it; fetch what depends on its results with Session.run"
)
NEVER_RAN = (
    "was made in an IPUStrategy scope but never ran there: its numbers came from plain TensorFlow on the host; call "
    "its fit, evaluate or predict, or strategy.run, inside the scope"
)
