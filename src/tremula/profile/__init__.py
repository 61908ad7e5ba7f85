"""The profile file: what the chip model found about one program, kept for viewers (docs/profile.md)."""

from tremula.profile.reader import Profile
from tremula.profile.writer import ProfileWriter

__all__ = ["Profile", "ProfileWriter"]
