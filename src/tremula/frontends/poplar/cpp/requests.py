"""What a C++ program asks about targets, devices and graphs, by the name of the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tremula import log
from tremula.frontends.poplar.codelets.codelet import Codelet
from tremula.frontends.poplar.cpp import allowed
from tremula.frontends.poplar.cpp.allowed import shim
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.errors import ParseError, PoplarError, UnknownVertexType
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.target import TargetKind
from tremula.frontends.poplar.types import ALL_TYPES

Handler = Callable[..., Any]
HANDLERS: dict[str, Handler] = {}


def request(name: str) -> Callable[[Handler], Handler]:
    """Register what serves a request: a function of the session and the arguments."""

    def register(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        return handler

    return register


# -- packages -----------------------------------------------------------------------------------------------------


@request("method")
def method(session: Session, owner: Any, name: str, arguments: list[Any]) -> Any:
    """Call a public method of an object."""
    return allowed.method(owner, name)(*arguments)


@request("attribute")
def attribute(session: Session, owner: Any, name: str) -> Any:
    """A public attribute of an object."""
    return allowed.attribute(owner, name)


@request("attribute name")
def attribute_name(session: Session, owner: Any, name: str) -> str:
    """The name of the member of an enumeration that an attribute is."""
    return str(allowed.attribute(owner, name).name)


@request("blocks")
def blocks(session: Session, execution: Any, tile: int) -> list[Any]:
    """The blocks that a profile has of a tile."""
    return list(allowed.method(execution, "blocks")(tile))


@request("without effect")
def without_effect(session: Session, what: str, why: str) -> None:
    """Say once that something has no effect here."""
    log.no_effect(what, why)


@request("version")
def version(session: Session) -> str:
    """The version of the stack that this one stands in for."""
    return str(shim().versionString())


@request("json")
def read_json(session: Session, text: str) -> dict[str, str]:
    """A JSON object of texts, numbers and booleans, all as texts."""
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise ParseError(f"options cannot be read as JSON: {problem}") from None
    if not isinstance(found, dict):
        raise ParseError("options have to be a JSON object")
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in found.items()
        if not isinstance(value, dict | list)
    }


# -- targets and devices --------------------------------------------------------------------------------------------

_FIGURES = (
    "getNumIPUs",
    "getTilesPerIPU",
    "getNumTiles",
    "getNumWorkerContexts",
    "getBytesPerTile",
    "getExchangeBytesPerCycle",
    "getMemcpyBytesPerCycle",
    "getMinIPUSyncDelay",
    "getMaxIPUSyncDelay",
    "getGlobalSyncCycles",
    "getMemoryBytes",
    "getTileClockFrequency",
    "getNumStrideBits",
    "getRptCountMax",
    "getDataPathWidth",
    "getFp16ConvUnitMaxPipelineDepth",
    "getFp32ConvUnitMaxPipelineDepth",
    "getFp16InFp16OutConvUnitsPerTile",
    "getFp16InFp32OutConvUnitsPerTile",
    "getFp32InFp32OutConvUnitsPerTile",
    "getConvUnitCoeffLoadBytesPerCycle",
    "getTilesPerSharedExchangeBus",
    "getAtomicStoreGranularity",
    "getInterleavedMemoryElementIndex",
)


def target_row(session: Session, target: Any) -> list[Any]:
    """A target as the C++ program keeps it. Figures that the Python class does not have are left out."""
    facts = target.facts
    figures = {name: float(getattr(target, name)()) for name in _FIGURES if hasattr(target, name)}
    offsets = np.array(target.getMemoryElementOffsets() if facts.kind is not TargetKind.CPU else [0])
    return [target, facts.kind.name, facts.version, facts.accurate_half, figures, offsets]


def device_row(session: Session, device: Any) -> list[Any]:
    """A device as the C++ program keeps it."""
    return [device, target_row(session, device.getTarget()), device.getId(), device.getDriverIDs()]


@request("target of host")
def host_target(session: Session, accurate_half: bool, ipus: int) -> list[Any]:
    """The host as a target."""
    return target_row(session, shim().Target.createCPUTarget(accurate_half, ipus))


@request("target")
def target(
    session: Session, ipus: int, system: str, tiles_per_ipu: int, options: Mapping[str, str]
) -> list[Any]:
    """IPUs of a version, with all or some of their tiles."""
    made = shim().Target.createIPUTarget(ipus, system.split(":")[0].lower(), options or None)
    return target_row(session, made.createVirtualTarget(ipus, tiles_per_ipu) if tiles_per_ipu else made)


@request("part of target")
def target_part(session: Session, whole: Any, ipus: int, tiles_per_ipu: int) -> list[Any]:
    """The same chip with fewer IPUs or tiles."""
    return target_row(session, whole.createVirtualTarget(ipus, tiles_per_ipu))


@request("host device")
def host_device(session: Session) -> list[Any]:
    """The host as a device."""
    return device_row(session, shim().Device.createCPUDevice())


@request("devices")
def devices(session: Session, kind: str | None, ipus: int | None) -> list[Any]:
    """The devices of this machine."""
    manager = shim().DeviceManager.createDeviceManager()
    found = manager.getDevices() if kind is None else manager.getDevices(shim().TargetType[kind], ipus)
    return [device_row(session, each) for each in found]


@request("device")
def device(session: Session, id: int) -> list[Any]:
    """The device with a number."""
    return device_row(session, shim().DeviceManager.createDeviceManager().getDevice(id))


@request("part of device")
def device_part(session: Session, whole: Any, tiles_per_ipu: int) -> list[Any]:
    """A device of which a program uses some tiles of each IPU."""
    return device_row(session, whole.createVirtualDevice(tiles_per_ipu))


@request("attributes")
def attributes(session: Session, device: Any) -> dict[str, str]:
    """What a device says of itself."""
    facts = device.getTarget().facts
    return {
        "ipu architecture": facts.version,
        "tile clock frequency": f"{facts.clock_hz / 1e6:.0f}MHz (of the model)",
        "number of IPUs": str(facts.ipus),
        "kind": "virtual IPUs, modelled by Tremula" if facts.kind is TargetKind.IPU else facts.kind.name,
    }


@request("model figures")
def model_figures(session: Session, version: str) -> dict[str, Any]:
    """The figures that a model of a version starts with."""
    model = shim().IPUModel(version)
    facts = shim().Target.createIPUTarget(1, version).facts
    figures = {
        name: float(value) for name, value in vars(model).items() if isinstance(value, bool | int | float)
    }
    # the model takes these from the chip as long as the program does not set them
    figures.setdefault("minIPUSyncDelay", float(facts.chip.sync_cycles))
    figures.setdefault("globalSyncCycles", float(facts.chip.sync_cycles))
    return {**figures, "memoryElementOffsets": np.array(facts.memory_element_offsets())}


@request("model")
def model(
    session: Session, version: str, changed: Mapping[str, float], options: Mapping[str, str], half: bool
) -> list[Any]:
    """A device of a model, some figures of which the program has changed."""
    made = shim().IPUModel(version)
    for name, value in changed.items():
        if name == "relativeSyncDelay":
            made.relativeSyncDelay = shim().RelativeSyncDelayType(int(value))
        elif name in vars(made):
            whole = name != "tileClockFrequency"
            setattr(made, name, int(value) if whole else value)
        else:
            raise PoplarError(f"an IPUModel has no figure {name!r}")
    return device_row(session, made.createDevice(options or None, half))


# -- graphs ---------------------------------------------------------------------------------------------------------


@request("graph")
def graph(session: Session, target: Any, replicas: int) -> list[Any]:
    """A new graph."""
    made = shim().Graph(target, replicas)
    return [
        session.add_graph(made),
        target_row(session, made.getTarget()),
        made.contents.target.accurate_half,
    ]


@request("whole")
def whole(session: Session, part: Any) -> list[Any]:
    """The graph that a part belongs to."""
    number = session.whole_number(part)
    top: Any = session.graph(number)
    return [number, target_row(session, top.getTarget())]


@request("part")
def part(session: Session, graph: Any, tiles: list[int]) -> list[Any]:
    """A part of a graph."""
    made = graph.createVirtualGraph(tiles)
    return [session.add_graph(made, session.whole_number(graph)), target_row(session, made.getTarget())]


@request("tile mapping")
def tile_mapping(session: Session, graph: Any, view: View) -> list[Any]:
    """Begin, end and tile of each stretch of a tensor."""
    return list(graph.tile_mapping(view))


@request("constant")
def constant(session: Session, view: Any) -> Any:
    """The value of a constant of one element."""
    return view.getConstantValue()


@request("estimate of vertex")
def estimate_of_vertex(session: Session, graph: Any, compute_set: Any, type: str, vertex: int) -> int:
    """The cycles that the program gave for a vertex."""
    found = compute_set.batches[type].estimates.get(vertex)
    if found is None:
        raise PoplarError(f"vertex {vertex} of type {type} has no estimate: call setPerfEstimate")
    return int(found[0])


@request("addCodelets")
def codelets(
    session: Session, graph: Any, source: str, is_text: bool, type: str, flags: str, target: str
) -> list[Any]:
    """Add codelets from a file or a text; answers with all codelets that the graph has now."""
    from tremula.frontends.poplar.codelets import loading

    if is_text:
        loading.add_codelets(graph, _Text(source), type, flags, target)
    else:
        loading.add_codelets(graph, source, type, flags, target)
    return [_codelet_row(each) for each in graph.contents.codelets.values()]


class _Text(str):
    """C++ text, not the name of a file."""


@request("codelet")
def codelet(session: Session, graph: Any, type: str) -> list[Any]:
    """A codelet that is there already."""
    found = graph.contents.codelets.get(type)
    if found is None:
        known = ", ".join(sorted(graph.contents.codelets)) or "none"
        raise UnknownVertexType(f"no codelet is named {type!r}; added so far: {known}")
    return [_codelet_row(found)]


def _codelet_row(codelet: Codelet) -> list[Any]:
    fields = [
        [
            each.name,
            each.kind.value,
            each.direction.writes,
            -1 if each.type is None else ALL_TYPES.index(each.type),
        ]
        for each in codelet.fields.values()
    ]
    return [codelet.name, fields]


@request("estimator")
def estimator(session: Session, graph: Any, type: str, function: Callable[..., Any]) -> None:
    """Let a function of the program estimate the vertices of a type."""
    from tremula.frontends.poplar.codelets.codelet import CycleEstimate, EstimateSource, Shapes

    def estimate(shapes: Shapes) -> CycleEstimate:
        found = np.array([function(*_introspected(shapes, vertex)) for vertex in range(shapes.count)])
        pairs = found.reshape(-1, 2).astype(np.float64)
        return CycleEstimate(pairs[:, 0], EstimateSource.USER, pairs[:, 1])

    graph.contents.estimators[type] = estimate


def _introspected(shapes: Any, vertex: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sizes of the fields of one vertex, and the values of its plain members."""
    fields: dict[str, Any] = {}
    for name, elements in shapes.elements.items():
        lists = shapes.lists.get(name)
        edges = 0 if lists is None else int(lists[vertex])
        fields[name] = [int(elements[vertex]), [int(elements[vertex]) // edges] * edges if edges else []]
    return fields, {name: np.ravel(values[vertex]) for name, values in shapes.state.items()}


@request("host function")
def host_function(session: Session, graph: Any, handle: str, inputs: list[Any], outputs: list[Any]) -> Any:
    """A function of the host that programs call."""
    return graph.addHostFunction(handle, [tuple(each) for each in inputs], [tuple(each) for each in outputs])


@request("cycle count")
def cycle_count(session: Session, graph: Any, program: Any, tile: int, sync: Any, name: str) -> list[Any]:
    """A program that counts the cycles of another one, and where it writes them."""
    counted = shim().program.Sequence(program)
    counter = shim().cycleCount(graph, counted, tile, sync, name)
    return [counter, counted]
