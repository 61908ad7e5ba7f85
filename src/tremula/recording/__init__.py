"""From the chip model's estimate to a profile file."""

from tremula.recording.record import write_profile

__all__ = ["write_profile"]
