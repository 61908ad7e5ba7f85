"""Every public name of poptorch is there, with the argument names and their order, and the enum values.

The list in tests/golden/poptorch_api.json holds names alone, read off the public PopTorch 3.4 sources.
"""

import importlib
import inspect
import json
import pathlib

import pytest

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "poptorch_api.json").read_text())

#: torch 2.13 itself changed these constructors; ours take what torch takes, then PopTorch's own arguments
CHANGED_BY_TORCH = {
    "poptorch.optim.SGD.__init__",
    "poptorch.optim.Adam.__init__",
    "poptorch.optim.AdamW.__init__",
    "poptorch.optim.RMSprop.__init__",
}
#: parts of the real implementation that happen to have public names
INTERNAL = {
    "poptorch.ops.CPU.execute",
    "poptorch.ops.CPU.registerPersistentData",
    "poptorch.options.Attribute",
    "poptorch.options.Attribute.__init__",
}


def resolve(name):
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def arguments(function):
    names = []
    for parameter in inspect.signature(function).parameters.values():
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        suffix = "=" if parameter.kind is parameter.KEYWORD_ONLY else ""
        names.append(f"{prefix}{parameter.name}{suffix}")
    return names


def cases():
    for name, entry in GOLDEN.items():
        if name in INTERNAL:
            continue
        yield name, entry if isinstance(entry, list) else None
        if isinstance(entry, dict):
            for member, arguments_of in entry.items():
                if f"{name}.{member}" not in INTERNAL:
                    yield f"{name}.{member}", arguments_of


@pytest.mark.parametrize(
    ("name", "expected"), list(cases()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_name_exists_with_its_arguments(name, expected):
    found = resolve(name)
    if isinstance(expected, dict):
        assert found.value == expected["value"]
    elif isinstance(expected, list) and name not in CHANGED_BY_TORCH:
        given = arguments(found)
        if inspect.ismethod(found):
            given = ["cls", *given]
        assert given == expected


@pytest.mark.parametrize("name", sorted(CHANGED_BY_TORCH))
def test_constructors_that_torch_changed_keep_the_old_order(name):
    given = arguments(resolve(name))
    old = GOLDEN[name.rpartition(".")[0]]["__init__"]
    kept = [
        argument.rstrip("=") for argument in given if argument.rstrip("=") in {o.rstrip("=") for o in old}
    ]
    assert kept == [argument.rstrip("=") for argument in old]
