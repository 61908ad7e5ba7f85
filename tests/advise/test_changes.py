"""Changes of a program's own lines, modelled without touching it; what they come to is tested in tests/poptorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch import nn

from tremula.errors import Error
from tremula.program.variant import Variant
from tremula.study.case import Changes, checkpoint_tensors, with_proportions

from .subjects import case_of, study_of, trained


def test_nothing_changed_is_the_same_subject() -> None:
    study, case = trained()
    assert study.subject_of(case) is study.subject
    assert with_proportions(study.program(case), ()) == study.program(case)
    assert Changes(checkpoints=("body.0",)).dtypes(Variant()) is None


def test_results_are_kept_by_the_names_of_modules() -> None:
    study, case = trained()
    flat = study.program(case)
    assert len(checkpoint_tensors(flat, ("body.0", "body.1"))) == 2
    with pytest.raises(Error, match="nowhere"):
        checkpoint_tensors(flat, ("nowhere",))


def test_a_proportion_reaches_the_gradients_of_its_product() -> None:
    study, case = trained()
    flat = with_proportions(study.program(case), (("body.1.0", 0.1),))
    shares = [
        (op.phase.value, work.proportion)
        for op in flat.ops
        for work in op.works
        if op.module == "body.1.0" and hasattr(work, "proportion")
    ]
    assert {share for _, share in shares} == {0.1}
    assert {phase for phase, _ in shares} == {"forward", "backward"}


def test_inference_has_no_accumulators() -> None:
    study = study_of(nn.Linear(8, 8), (4, 8), training=False)
    case = replace(case_of(study), changes=Changes(accumulators="float16"))
    with pytest.raises(Error, match="no gradient accumulators"):
        study.estimate(case)


def test_inputs_that_are_sent_shorter_are_cast_on_the_device() -> None:
    study, case = trained()
    changed = replace(case, changes=Changes(sent=("float16", None)))
    before, after = study.program(case), study.program(changed)
    first = before.tensors[before.inputs[0]].bytes
    assert after.tensors[after.inputs[0]].bytes == first / 2
    assert len(after.ops) == len(before.ops) + 1
