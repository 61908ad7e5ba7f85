"""Changes of a program's own lines, modelled without touching it; what they come to is tested in tests/poptorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from tremula.errors import Error
from tremula.frontends.torch.subject import Variant
from tremula.study.changes import Changes, kept_tensors, with_proportions

from .subjects import case_of, study_of, trained


def test_nothing_changed_is_the_same_subject() -> None:
    study, case = trained()
    assert study.subject_of(case) is study.subject
    assert with_proportions(study.laid_out(case), ()) == study.laid_out(case)
    assert Changes(kept=("body.0",)).captured(Variant()) is None


def test_results_are_kept_by_the_names_of_modules() -> None:
    study, case = trained()
    flat = study.laid_out(case)
    assert len(kept_tensors(flat, ("body.0", "body.1"))) == 2
    with pytest.raises(Error, match="nowhere"):
        kept_tensors(flat, ("nowhere",))


def test_a_proportion_reaches_the_gradients_of_its_product() -> None:
    study, case = trained()
    flat = with_proportions(study.laid_out(case), (("body.1.0", 0.1),))
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
    case = replace(case_of(study), changes=Changes(accumulators=torch.float16))
    with pytest.raises(Error, match="no gradient accumulators"):
        study.estimate(case)


def test_inputs_that_are_sent_shorter_are_cast_on_the_device() -> None:
    study, case = trained()
    changed = replace(case, changes=Changes(sent=(torch.float16, None)))
    before, after = study.laid_out(case), study.laid_out(changed)
    first = before.tensors[before.inputs[0]].bytes
    assert after.tensors[after.inputs[0]].bytes == first / 2
    assert len(after.ops) == len(before.ops) + 1
