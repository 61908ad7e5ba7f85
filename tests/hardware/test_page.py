"""The page on hardware says what the files say."""

from __future__ import annotations

from pathlib import Path

from tremula.hardware import catalogue

PAGE = Path(__file__).parents[2] / "docs" / "hardware.md"


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading."""
    lines = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("|"))
    found = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found[2:]


def test_chips() -> None:
    rows = table("Chips")
    assert {row[0] for row in rows} == set(catalogue.names("chip"))
    for name, title, *cells in rows:
        chip = catalogue.chip(name)
        assert title == chip.title
        assert cells == [
            str(chip.tiles),
            f"{chip.clock_hz / 1e9:g}",
            str(chip.tile_memory_bytes),
            f"{chip.peak_flops('fp16', 'fp16') / 1e12:.1f}",
            f"{chip.peak_flops('fp32', 'fp32') / 1e12:.1f}",
            chip.architecture,
        ]


def test_machines() -> None:
    rows = table("Machines")
    assert {row[0] for row in rows} == set(catalogue.names("machine"))
    for name, *cells in rows:
        machine = catalogue.machine(name)
        memory = machine.streaming_memory_bytes
        assert cells == [
            str(machine.ipus),
            machine.chip.name,
            f"{machine.link_bytes_per_second / 1e9:.1f}",
            f"{machine.pair_links}, {machine.cross_links}, {machine.rail_links}",
            f"{machine.link_latency_seconds * 1e6:.1f}",
            str(machine.gateway_links or "-"),
            f"{machine.host_link_bytes_per_second / 1e9:.1f}",
            f"{memory / 1e9:.0f}" if memory else "-",
        ]


def test_sensors() -> None:
    text = PAGE.read_text(encoding="utf-8").split("| name | boards |")[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:6]]
    assert {row[0] for row in rows} == set(catalogue.names("machine"))

    def pair(idle: float | None, busy: float | None) -> str:
        return ", ".join("-" if each is None else f"{each:.1f}" for each in (idle, busy))

    for name, *cells in rows:
        machine = catalogue.machine(name)
        assert cells == [
            str(machine.boards),
            pair(machine.board_idle_watts, machine.board_busy_watts),
            pair(machine.die_idle_celsius, machine.die_busy_celsius),
            pair(machine.board_idle_celsius, machine.board_busy_celsius),
        ]


def test_systems() -> None:
    rows = table("Systems")
    assert {row[0] for row in rows} == set(catalogue.names("system"))
    for name, *cells in rows:
        system = catalogue.system(name)
        assert cells == [
            str(system.machines),
            system.machine.name,
            str(system.ipus),
            str(system.racks),
            system.topology,
            str(system.hosts),
        ]


def test_the_example_works(tmp_path: Path) -> None:
    example = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    path = tmp_path / "half-bow.toml"
    path.write_text(example, encoding="utf-8")
    chip = catalogue.chip(str(path))
    assert (chip.tiles, chip.exchange_bytes_per_cycle) == (736, 8)
