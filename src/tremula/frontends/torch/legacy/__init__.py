"""Habits of programs that were written for older torch and numpy releases, which today's refuse.

TREMULA_LEGACY_TORCH=1 brings back what such programs need, for the whole process and only then: arguments that torch
has dropped, types in checkpoints that `torch.load` no longer reads, and names that numpy has removed. The list is in
docs/programs.md. TREMULA_LEGACY_PICKLE=1 is a switch of its own: with it, files that are loaded may execute code.
"""

from __future__ import annotations

from tremula.settings.environment import env

SWITCH = "TREMULA_LEGACY_TORCH"
PICKLE_SWITCH = "TREMULA_LEGACY_PICKLE"


def follow_switches() -> None:
    """Change what the environment asks for; nothing without it. To be called once torch is imported."""
    if env.get(SWITCH):
        from tremula.frontends import numpy_names
        from tremula.frontends.torch.legacy import checkpoints, torch_arguments

        torch_arguments.accept_data_source()
        torch_arguments.accept_verbose()
        checkpoints.allow_common_types()
        numpy_names.restore()
    if env.get(PICKLE_SWITCH):
        from tremula.frontends.torch.legacy import checkpoints

        checkpoints.allow_everything()
