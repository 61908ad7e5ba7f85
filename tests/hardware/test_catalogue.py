"""Hardware by name: what comes with the package, and the user's own files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.hardware import catalogue

HALF_THE_TILES = """
kind = "chip"
name = "half-bow"
based_on = "bow"
date = "2026-11-16"
tiles = { value = 736, source = "what if" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREMULA_HARDWARE_PATH", str(tmp_path))
    return tmp_path


def test_what_comes_with_the_package() -> None:
    assert {"mk1", "mk2", "bow", "c600"} <= set(catalogue.names("chip"))
    assert {"c2", "m2000", "bow2000", "c600"} <= set(catalogue.names("machine"))
    sizes = {name: catalogue.system(name).ipus for name in catalogue.names("system")}
    expected = {f"{prefix}pod{n}": n for prefix in ("", "bow-") for n in (4, 16, 64, 128, 256)}
    assert expected | {"c2": 2, "m2000": 4, "bow2000": 4, "c600": 1, "dss8440": 16} == sizes


@pytest.mark.parametrize(
    ("name", "teraflops", "single"),
    [("mk1", 124.5, 31.1), ("mk2", 250.6, 62.6), ("bow", 348.6, 87.1), ("c600", 282.6, 70.7)],
)
def test_peaks_are_those_that_the_vendor_quotes(name: str, teraflops: float, single: float) -> None:
    chip = catalogue.chip(name)
    assert chip.peak_flops("fp16", "fp16") / 1e12 == pytest.approx(teraflops, rel=2e-3)
    assert chip.peak_flops("fp32", "fp32") / 1e12 == pytest.approx(single, rel=2e-3)


@pytest.mark.parametrize("kind", ["chip", "machine", "system"])
def test_every_number_has_a_source(kind: str) -> None:
    for name in catalogue.names(kind):
        thing = getattr(catalogue, kind)(name)
        sources = catalogue.sources(name, kind)
        numbers = {
            field
            for field, value in vars(thing).items()
            if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        }
        assert numbers == set(sources), name
        assert all(len(text) > 5 for text in sources.values())


def test_racks_and_links() -> None:
    pod = catalogue.system("pod256")
    assert (pod.racks, pod.ipus_per_rack, pod.wraps, pod.chip.name) == (4, 64, True, "mk2")
    # 128 Gibit/s per link, 85 % usable, two links up
    assert pod.link_bytes_per_second("up") == pytest.approx(2 * 128 * 2**30 * 0.85 / 8)
    assert pod.link_bytes_per_second("gateway") == 25e9
    assert catalogue.system("dss8440").link_bytes_per_second("gateway") == 0
    assert not catalogue.system("pod16").wraps


def test_poptorch_versions() -> None:
    assert [catalogue.chip_of_version(v).name for v in ("ipu1", "ipu2", "ipu21")] == ["mk1", "mk2", "c600"]
    with pytest.raises(Error, match="ipu3"):
        catalogue.chip_of_version("ipu3")


def test_unknown_names_are_met_with_what_exists() -> None:
    with pytest.raises(Error, match=r"Did you mean pod16\?.*bow-pod64"):
        catalogue.system("pod1")
    with pytest.raises(Error, match="mk1, mk2"):
        catalogue.chip("gpu")
    with pytest.raises(Error, match="hopper"):
        catalogue.sources("hopper")
    with pytest.raises(Error, match="hopper"):
        catalogue.target("hopper")


def test_half_the_tiles_is_half_the_peak(folder: Path) -> None:
    (folder / "half-bow.toml").write_text(HALF_THE_TILES)
    half, bow = catalogue.chip("half-bow"), catalogue.chip("bow")
    for dtype in ("fp16", "fp32"):
        assert 2 * half.peak_flops(dtype, "fp32") == bow.peak_flops(dtype, "fp32")
    assert 2 * half.memory_bytes == bow.memory_bytes
    assert (half.name, half.based_on, half.clock_hz) == ("half-bow", "bow", bow.clock_hz)
    assert "half-bow" in catalogue.names("chip")
    assert "half-bow" not in catalogue.names("machine")
    sources = catalogue.sources("half-bow")
    assert sources["tiles"] == "what if"
    assert sources["clock_hz"] == catalogue.sources("bow")["clock_hz"]


def test_a_file_is_used_by_its_path_too(tmp_path: Path) -> None:
    path = tmp_path / "anything.toml"
    path.write_text(HALF_THE_TILES)
    assert catalogue.chip(str(path)).tiles == 736
    assert catalogue.sources(str(path))["tiles"] == "what if"
    with pytest.raises(Error, match="describes a chip, and a machine is asked for"):
        catalogue.machine(str(path))


def test_a_changed_file_is_read_anew(folder: Path) -> None:
    path = folder / "half-bow.toml"
    path.write_text(HALF_THE_TILES)
    assert catalogue.chip("half-bow").tiles == 736
    path.write_text(HALF_THE_TILES.replace("736", "7360"))
    assert catalogue.chip("half-bow").tiles == 7360


def test_sub_folders_and_variations_of_variations(folder: Path) -> None:
    (folder / "chips").mkdir()
    (folder / "chips" / "half-bow.toml").write_text(HALF_THE_TILES)
    (folder / "fast.toml").write_text(
        'kind = "chip"\nname = "fast"\nbased_on = "half-bow"\ndate = "2026-11-16"\n'
        'exchange_bytes_per_cycle = { value = 8, source = "double the exchange" }\n'
    )
    fast = catalogue.chip("fast")
    assert (fast.tiles, fast.exchange_bytes_per_cycle, fast.based_on) == (736, 8, "bow")


def test_a_base_may_be_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(HALF_THE_TILES)
    (tmp_path / "mine.toml").write_text(
        'kind = "chip"\nname = "mine"\nbased_on = "./base.toml"\ndate = "2026-11-16"\n'
    )
    assert catalogue.chip(str(tmp_path / "mine.toml")).tiles == 736


def test_a_circle_of_bases_ends(folder: Path) -> None:
    for name, base in (("a", "b"), ("b", "a")):
        (folder / f"{name}.toml").write_text(
            f'kind = "chip"\nname = "{name}"\nbased_on = "{base}"\ndate = "2026-11-16"\n'
        )
    with pytest.raises(Error, match="circle"):
        catalogue.chip("a")


def test_machines_and_systems_of_the_users(folder: Path) -> None:
    (folder / "half-bow.toml").write_text(HALF_THE_TILES)
    (folder / "box.toml").write_text(
        'kind = "machine"\nname = "box"\nbased_on = "bow2000"\ndate = "2026-11-16"\nchip = "half-bow"\n'
    )
    (folder / "boxes.toml").write_text(
        'kind = "system"\nname = "boxes"\nbased_on = "bow-pod16"\ndate = "2026-11-16"\nmachine = "box"\n'
        'machines = { value = 8, source = "a plan" }\n'
    )
    boxes = catalogue.system("boxes")
    assert (boxes.ipus, boxes.chip.tiles, boxes.title) == (32, 736, "Bow Pod16 direct attach")
    assert catalogue.sources("boxes")["machines"] == "a plan"


def test_bundled_names_cannot_be_taken(folder: Path) -> None:
    (folder / "own.toml").write_text(HALF_THE_TILES.replace("half-bow", "bow"))
    with pytest.raises(Error, match="give yours another name"):
        catalogue.chip(str(folder / "own.toml"))


def test_name_and_file_name_agree(folder: Path) -> None:
    (folder / "other.toml").write_text(HALF_THE_TILES)
    with pytest.raises(Error, match="rename the file"):
        catalogue.chip("other")


def test_memory_cannot_be_less_than_its_part(folder: Path) -> None:
    (folder / "small.toml").write_text(
        'kind = "chip"\nname = "small"\nbased_on = "bow"\ndate = "2026-11-16"\n'
        'tile_memory_bytes = { value = 65536, source = "what if" }\n'
    )
    with pytest.raises(Error, match="interleaved_memory_bytes"):
        catalogue.chip("small")


def test_targets(folder: Path) -> None:
    (folder / "half-bow.toml").write_text(HALF_THE_TILES)
    assert catalogue.target("mk2", 1).ipus == 4
    assert catalogue.target("mk2", 5).name == "pod16"
    assert catalogue.target("mk1", 3).name == "dss8440"
    assert catalogue.target("c600").name == "c600"
    assert catalogue.target("bow-pod64", 64).name == "bow-pod64"
    own = catalogue.target("half-bow", 16)
    assert (own.name, own.chip.tiles) == ("bow-pod16", 736)
    assert catalogue.target(str(folder / "half-bow.toml"), 4).chip.tiles == 736
    more = catalogue.target("mk2", 300)
    assert (more.ipus, more.racks, more.name) == (300, 5, "75 x m2000")
    with pytest.raises(Error, match="use pod64"):
        catalogue.target("pod16", 17)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"kind = ", b"", b"[[[", b'kind = "chip"\nkind = "chip"'])
def test_broken_files(folder: Path, content: bytes) -> None:
    (folder / "broken.toml").write_bytes(content)
    with pytest.raises(Error, match=r"broken\.toml"):
        catalogue.chip("broken")
    assert catalogue.chip("bow").tiles == 1472  # others are not hurt by it
    assert "bow" in catalogue.names()


def test_missing_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_HARDWARE_PATH", os.pathsep.join([str(tmp_path / "no"), ""]))
    assert catalogue.chip("mk2").tiles == 1472
    with pytest.raises(Error, match="cannot be read"):
        catalogue.chip(str(tmp_path / "none.toml"))
    with pytest.raises(Error, match="cannot be read"):
        catalogue.chip(f"{tmp_path}/")


def test_no_framework_is_imported() -> None:
    code = "import sys, tremula.hardware.catalogue as c; c.system('pod16'); print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
