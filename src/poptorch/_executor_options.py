"""The options that an executor works with: its own copy, checked, with every output mode decided."""

from __future__ import annotations

from . import _impl, enums
from .options import Options, PipelinedExecution, ShardedExecution


def own_options(options: Options | None) -> Options:
    """A copy of the user's options, which are frozen."""
    if options is None:
        return Options()
    if not isinstance(options, Options):
        raise _impl.createPoptorchError(f"options must be a poptorch.Options, not a {type(options).__name__}")
    options._freeze()
    return options.clone()


def resolve_output_modes(options: Options, training: bool) -> None:
    """Decide which results a model and its anchors return, where the user has not; refuse what cannot be."""
    if options.defaultOutputMode():
        options.outputMode(enums.OutputMode.Final if training else enums.OutputMode.All)
    if not training and options.Training.gradient_accumulation != 1:
        text = (
            "You must set poptorch.Options().Training.gradientAccumulation to 1 for inference, which has no gradients "
            f"to accumulate; it is {options.Training.gradient_accumulation}."
        )
        strategy = options._execution_strategy
        if isinstance(strategy, PipelinedExecution) and not isinstance(strategy, ShardedExecution):
            text += " Use poptorch.Options().deviceIterations to fill a pipeline."
        raise _impl.createPoptorchError(text)
    for anchor in options.anchored_tensors.values():
        if anchor[1]:  # the anchor follows the model's output mode
            anchor[2] = options.output_mode
            anchor[3] = options.output_return_period
