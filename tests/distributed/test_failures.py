"""Instances that die, hang, never come, or train alone: who it is, said by those that notice."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import poptorch
from tremula.errors import Error

from .training_run import Dense, batches

_TRAINED = """
x, y = batches(4, 1)[0]
index = popdist.getInstanceIndex()

def trained(options):
    model = Dense()
    return poptorch.trainingModel(model, options.showCompilationProgressBar(False))

model = trained(popdist.poptorch.Options())
model(x, y)
"""


def test_instances_that_fail_or_are_killed_are_named_by_the_others(run: Any) -> None:
    script = """
    from tremula.distributed.collectives import whole
    if index == 1:
        raise SystemExit(3)
    if index == 2:
        os._exit(9)
    whole(0, 3, 60.0).store.wait(["ended/1"])
    told = []
    for _ in range(2):  # it stays so
        try:
            model(x, y)
        except poptorch.Error as error:
            told.append(str(error))
    leave(told)
    """
    finished = run(_TRAINED + textwrap.dedent(script), instances=3)
    assert [each.code for each in finished] == [0, 3, 9], finished[0].err
    told = finished[0].left
    assert told == [told[0]] * 2
    expected = (
        "Instance 0 of 3 cannot go on without the others: instance 1 has ended and instance 2 did not arrive"
    )
    assert expected in told[0]


def test_an_instance_that_hangs_is_named_after_the_timeout(run: Any) -> None:
    script = """
    from tremula.distributed import rendezvous
    index = popdist.getInstanceIndex()
    store = rendezvous.connect(index, 2, 100.0)
    store.set(f"here/{index}", "1")
    store.wait(["here/0", "here/1"])  # imports take as long as they take
    os.environ["POPLAR_RUNTIME_OPTIONS"] = '{"target.hostSyncTimeout": "3"}'
    popdist.init()
    store.set_timeout(datetime.timedelta(seconds=100))
    if index == 1:
        store.wait(["over"])
        os._exit(0)
    try:
        popdist.synchronize()
    finally:
        store.set("over", "1")
    """
    finished = run(f"import datetime\n{textwrap.dedent(script)}")
    assert finished[0].code == 1
    assert "instance 1 did not arrive" in finished[0].err
    assert "target.hostSyncTimeout in POPLAR_RUNTIME_OPTIONS (seconds; now 3)" in finished[0].err


def test_who_trains_alone_and_who_never_comes_is_known(run: Any) -> None:
    """Instance 0 trains a model that is not distributed and waits; instance 1 never calls its model."""
    finished = run(
        """
        options = poptorch.Options()
        if popdist.getInstanceIndex() == 0:
            options.Distributed.disable()
        model = poptorch.trainingModel(Dense(), options)
        if popdist.getInstanceIndex() == 0:
            popdist.init()
        """,
        POPLAR_RUNTIME_OPTIONS='{"target.hostSyncTimeout": "1"}',
    )
    assert [each.code for each in finished] == [1, 0], finished[1].err
    assert "Instance 0 waited 1 s for instance 1 of 2 without an answer" in finished[0].err
    assert [run.notes.get(f"independent/{rank}") for rank in range(2)] == [b"Dense", b"Dense"]


def test_a_wrapper_that_a_conversion_lost_is_told_while_the_program_runs(run: Any) -> None:
    finished = run(
        """
        from tremula.distributed import independent_models
        independent_models._FIRST_CALL_SECONDS = 0.2
        model = poptorch.trainingModel(Dense(), poptorch.Options()).to("cpu")
        store = next(torch.distributed.rendezvous("env://"))[0]
        store.get(f"tremula/independent/{popdist.getInstanceIndex()}")  # waits for it
        """
    )
    assert [each.code for each in finished] == [0, 0], finished[0].err
    assert run.notes.get("independent/1") == b"Dense"


def test_without_a_meeting_point_nothing_is_trained_in_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    options = poptorch.Options().showCompilationProgressBar(False)
    options.Distributed.configureProcessId(0, 2)
    with pytest.raises(Error, match="MASTER_ADDR and MASTER_PORT are not set"):
        poptorch.trainingModel(Dense(), options)(*batches(4, 1)[0])


def test_what_is_only_compiled_needs_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    options = poptorch.Options().showCompilationProgressBar(False).useOfflineIpuTarget()
    options.Distributed.configureProcessId(0, 2)
    model = poptorch.trainingModel(Dense(), options)
    model.compile(*batches(4, 1)[0])
    assert model.isCompiled()
