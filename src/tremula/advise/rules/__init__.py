"""The rules: each looks at a case and its estimate and proposes changes, mild ones first. None of them estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tremula.advise.advice import Change
from tremula.advise.rules import batches, layout, memory, precision, recomputation, transfers
from tremula.estimate.estimate import Estimate
from tremula.study.case import Case, Study

Rule = Callable[[Study, Case, Estimate], Iterable[Change]]

#: what is likely to bring most for its time comes first, for a budget may end before all are tried; those that need
#: neither plans nor captures are tried before the others anyway
RULES: tuple[Rule, ...] = (
    batches.device_iterations,
    recomputation.on_or_off,
    recomputation.checkpoints,
    memory.optimizer_state,
    memory.accumulators,
    transfers.output_mode,
    transfers.prefetching,
    batches.accumulation,
    layout.more_replicas,
    precision.half,
    precision.half_partials,
    layout.over_ipus,
    batches.micro_batch,
    layout.moved_cuts,
    memory.of_the_peak,
    memory.of_ipus,
    transfers.overlap,
    transfers.input_dtypes,
    precision.half_accumulators,
)
