"""A choice of off, on and undefined."""

from tremula.frontends.tensorflow.config.messages import ThreeState

THREESTATE_OFF = ThreeState.THREESTATE_OFF
THREESTATE_ON = ThreeState.THREESTATE_ON
THREESTATE_UNDEFINED = ThreeState.THREESTATE_UNDEFINED

__all__ = ["THREESTATE_OFF", "THREESTATE_ON", "THREESTATE_UNDEFINED", "ThreeState"]
