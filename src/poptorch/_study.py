"""A wrapped model as a subject of questions to the chip model (`tremula.ask`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.frontends.torch.subject import Parts, TorchSubject
from tremula.study import listeners

from . import _deployment, _session_settings, _wrapping

if TYPE_CHECKING:
    from tremula.profile.model import Advice
    from tremula.program.stages import StageSummary
    from tremula.schedule.deployment import Deployment

    from ._poplar_executor import PoplarExecutor


def subject_of(executor: PoplarExecutor, *args: Any, **kwargs: Any) -> TorchSubject:
    """A wrapped model with the arguments of a call (a whole combined batch), compiled or not."""
    return subject_of_bound(executor, executor._args_parser(args, kwargs, False))


def subject_of_bound(executor: PoplarExecutor, bound: Any) -> TorchSubject:
    """The same with arguments that are bound to forward's already."""
    options, training = executor._options, executor._training
    inputs, call = executor._micro_batch(bound)
    label = _wrapping.plain_class(executor._user_model).__name__
    settings = _session_settings.session_settings(options, training, executor._groupings(), label)

    def deployment(stages: StageSummary | None) -> Deployment:
        return _deployment.deployment_of(options, stages, training)

    return TorchSubject(
        Parts(
            name=label,
            module=executor._model,
            call=call,
            inputs=inputs,
            input_names=["input" if not i else f"input/{i}" for i in range(len(inputs))],
            flatten=flattenTensorStructure,
            settings=settings,
            spec=executor._optimizer_spec() if training else None,
            deployment=deployment,
            rule=options._execution_strategy._placement_rule,
            around=executor._ready_for_capture,
        )
    )


def answer(executor: PoplarExecutor, bound: Any) -> None:
    """Answer `tremula estimate run` or TREMULA_ESTIMATE before the model is compiled; that may end the program."""
    subject = subject_of_bound(executor, bound)
    who = listeners.listener()
    if who is not None:
        who(subject)
        return
    from tremula.advise.report import answer_program

    answer_program(subject)


def advice_for_profile(executor: PoplarExecutor, bound: Any) -> list[Advice]:
    """What to change about a model that is compiled with a profile, best first, as rows of it."""
    from tremula.advise.recorded import recorded_advice

    return recorded_advice(subject_of_bound(executor, bound))
