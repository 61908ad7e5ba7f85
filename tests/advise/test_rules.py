"""Each rule: when it speaks, what its lines say, and that the model agrees with the direction."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from tremula.advise.rules import RULES, batches, layout, memory, precision, recomputation, transfers
from tremula.program.loops import Loops
from tremula.study.compare import compare

from .subjects import case_of, changes, effect, layers, study_of, too_large, trained


def test_more_device_iterations_share_the_cost_of_a_call() -> None:
    study, case = trained()
    found = changes(batches.device_iterations, study, case)
    assert [change.code for change in found] == [
        ("options.deviceIterations(4)",),
        ("options.deviceIterations(16)",),
        ("options.deviceIterations(64)",),
    ]
    rates = [effect(study, case, change)[1].throughput for change in found]
    assert effect(study, case, found[0])[0].throughput < rates[0] < rates[1] < rates[2]


def test_no_device_iterations_are_advised_when_the_host_is_no_matter() -> None:
    study, case = trained()
    many = replace(
        case,
        loops=replace(case.loops, device_iterations=100_000),
        deployment=replace(case.deployment, synthetic_data=True),
    )
    assert not changes(batches.device_iterations, study, many)


def test_a_larger_micro_batch_keeps_the_global_batch() -> None:
    study, case = trained()
    first = changes(batches.micro_batch, study, case)[0]
    assert first.code[0].startswith("batch_size = 32 ")
    assert first.code[1] == "options.Training.gradientAccumulation(4)"
    changed = first.apply(case)
    assert changed.variant.micro_batch == 32
    assert changed.loops.gradient_accumulation == 4
    assert first.cost == "The global batch stays the same."


def test_a_global_batch_that_changes_is_told() -> None:
    study, case = trained()
    odd = replace(case, loops=replace(case.loops, gradient_accumulation=3))
    first = changes(batches.micro_batch, study, odd)[0]
    assert "changes from 48 to 96" in first.cost
    assert len(first.code) == 1


def test_smaller_micro_batches_make_room() -> None:
    study, case = too_large()
    found = changes(batches.micro_batch, study, case)
    assert found[0].rule == "smaller micro-batch"
    before, after = effect(study, case, found[0])
    assert after["tile_bytes"].value < before["tile_bytes"].value


def test_one_sample_is_not_made_smaller() -> None:
    study = study_of(layers(8, 256), (1, 256), optimizer="sgd")
    case = case_of(study, tiles=2)
    assert not changes(batches.micro_batch, study, case)
    report = study.estimate(case).memory
    assert not report.fits
    assert "smaller micro-batch" not in report.out_of_memory_text()
    larger = too_large()[0].estimate(too_large()[1]).memory
    assert "smaller micro-batch" in larger.out_of_memory_text()


def test_accumulation_says_what_it_really_saves() -> None:
    study = study_of(layers(2), (4, 64))
    case = case_of(study)
    found = study.estimate(case)
    first = changes(batches.accumulation, study, case)[0]
    call = found.breakdown["host_call"] / found.cycles_per_step
    assert call > 0.5
    assert f": {call:.0%} the call from the host" in first.why
    before, after = effect(study, case, first)
    part = max(compare(before, after).parts, key=lambda each: -each.change)
    assert part.name == "host_call"


def test_a_larger_micro_batch_tells_of_the_call_only_where_more_samples_share_it() -> None:
    study, case = trained()
    assert "call from the host" not in changes(batches.micro_batch, study, case)[0].why
    alone = study_of(layers(2), (4, 64))
    assert "call from the host" in changes(batches.micro_batch, alone, case_of(alone))[0].why


def test_half_precision_is_faster_and_smaller() -> None:
    study, case = trained()
    plain, partials = changes(precision.half, study, case)
    assert plain.code[0] == "model.half()"
    assert "options.Precision.setPartialsType(torch.half)" in partials.code
    before, after = effect(study, case, plain)
    assert after.throughput > before.throughput
    assert after["tile_bytes"].value < before["tile_bytes"].value
    assert not changes(precision.half_partials, study, case), "there is no half-precision product yet"


def test_half_partials_are_for_half_products() -> None:
    study = study_of(layers(4), (16, 64), half=True)
    (change,) = changes(precision.half_partials, study, case_of(study))
    before, after = effect(study, case_of(study), change)
    assert after.throughput >= before.throughput
    assert not changes(precision.half, study, case_of(study))


def test_half_accumulators_take_less_room() -> None:
    study, case = trained()
    (change,) = changes(precision.half_accumulators, study, case)
    before, after = effect(study, case, change)
    assert after["tile_bytes"].value < before["tile_bytes"].value
    assert "accum_type = torch.float16" in change.code[0]
    alone = study_of(layers(2), (16, 64))
    assert not changes(precision.half_accumulators, alone, case_of(alone)), "nothing is accumulated"


def test_recomputation_and_checkpoints() -> None:
    study, case = too_large()
    found = changes(recomputation.checkpoints, study, case)
    assert found[0].code[0].startswith('options._Popart.set("autoRecomputation", 3)')
    assert "model.body[3]" in found[0].code[1]
    before, after = effect(study, case, found[-1])
    assert after["tile_bytes"].value < before["tile_bytes"].value
    assert after.throughput < before.throughput
    study, case = trained()
    assert not changes(recomputation.checkpoints, study, case), "there is room"
    again = replace(case, deployment=replace(case.deployment, recompute="all"))
    off = changes(recomputation.on_or_off, study, again)[0]
    assert '"autoRecomputation", 0' in off.code[0]
    before, after = effect(study, again, off)
    assert after.throughput > before.throughput


def test_temporaries_of_ipus_and_of_the_op_at_the_peak() -> None:
    study, case = too_large()
    for change in changes(memory.of_ipus, study, case):
        assert change.code[0].startswith('options.setAvailableMemoryProportion({"IPU0": ')
    for change in changes(memory.of_the_peak, study, case):
        before, after = effect(study, case, change)
        assert after["tile_bytes"].value <= 1.01 * before["tile_bytes"].value
        assert "poptorch.set_available_memory(result, " in change.code[1]


def test_all_ipus_with_a_proportion_are_named() -> None:
    study, case = trained()
    deployment = replace(case.deployment, proportions={-1: 0.6, 1: 0.3})
    for change in changes(memory.of_ipus, study, replace(case, deployment=deployment)):
        assert '"IPU1": 0.3' in change.code[0], "the option replaces what was set before"


@pytest.mark.parametrize("count", [1, 4])
def test_optimizer_state_can_go_elsewhere(count: int) -> None:
    study, case = trained()
    case = case_of(study_of(layers(4, 256), (16, 256), loops=Loops(gradient_accumulation=2, replicas=count)))
    study = study_of(layers(4, 256), (16, 256), loops=Loops(gradient_accumulation=2, replicas=count))
    found = changes(memory.optimizer_state, study, case)
    assert any("useReplicatedTensorSharding(True)" in change.code[0] for change in found) == (count > 1)
    off = next(change for change in found if "useOnChipStorage(False)" in change.code[0])
    before, after = effect(study, case, off)
    assert after["tile_bytes"].value < before["tile_bytes"].value
    assert after.throughput < before.throughput


def test_output_mode() -> None:
    study, case = trained()
    assert not changes(transfers.output_mode, study, case)
    chatty = replace(case, deployment=replace(case.deployment, returned_share=1.0))
    (change,) = changes(transfers.output_mode, study, chatty)
    before, after = effect(study, chatty, change)
    assert after.throughput > before.throughput


def test_images_can_be_sent_as_bytes() -> None:
    body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 62 * 62, 10))
    study = study_of(body, (4, 3, 64, 64), loops=Loops(device_iterations=16))
    case = case_of(study)
    found = {change.rule: change for change in changes(transfers.input_dtypes, study, case)}
    assert set(found) == {"inputs as float16", "inputs as uint8"}
    before, after = effect(study, case, found["inputs as uint8"])
    assert after.throughput > before.throughput
    laid = study.program(found["inputs as uint8"].apply(case))
    assert laid.tensors[laid.inputs[0]].bytes == 4 * 3 * 64 * 64


def test_overlap_is_not_for_pipelines() -> None:
    study = study_of(nn.Linear(8192, 8), (64, 8192), training=False, loops=Loops(device_iterations=64))
    case = case_of(study)
    (change,) = changes(transfers.overlap, study, case)
    assert any("numIOTiles(32)" in line for line in change.code)
    before, after = effect(study, case, change)
    assert after.throughput > before.throughput


def test_prefetching() -> None:
    study, case = trained()
    eager = replace(case, deployment=replace(case.deployment, prefetch_depth=0))
    (change,) = changes(transfers.prefetching, study, eager)
    before, after = effect(study, eager, change)
    assert after.throughput >= before.throughput


def test_replicas_divide_accumulation_where_they_can() -> None:
    study, case = trained()
    two = changes(layout.more_replicas, study, case)[0]
    assert two.code == ("options.replicationFactor(2)", "options.Training.gradientAccumulation(4)")
    changed = two.apply(case)
    assert changed.ipus == 2
    assert changed.system.ipus >= 2


def test_a_program_that_does_not_fit_is_cut() -> None:
    study, case = too_large()
    first = changes(layout.over_ipus, study, case)[0]
    assert first.search is not None
    found = first.search()
    assert found is not None
    before, after = effect(study, case, found)
    assert after["tile_bytes"].value < before["tile_bytes"].value
    fits, fitting = trained()
    assert not changes(layout.over_ipus, fits, fitting)
    assert any(line.startswith("model.body[") and "poptorch.BeginBlock(" in line for line in found.code)


def test_rules_propose_nothing_that_does_nothing() -> None:
    study, case = trained()
    found = study.estimate(case)
    for rule in RULES:
        for change in rule(study, case, found):
            if change.search is None:
                assert change.apply(case) != case, change.title
                assert change.code
                compile("\n".join(change.code), "advice", "exec")


def test_torch_is_all_that_lines_need_besides_poptorch() -> None:
    study, case = trained()
    known = {
        "model",
        "options",
        "optimizer",
        "inputs",
        "batch_size",
        "torch",
        "poptorch",
        "tuple",
        "next",
        "enumerate",
    }
    for rule in RULES:
        for change in rule(study, case, study.estimate(case)):
            names = compile("\n".join(change.code), "advice", "exec").co_names
            assert {
                name for name in names if name in dir(__builtins__) or name in vars(torch)
            } <= known | set(dir(torch))
