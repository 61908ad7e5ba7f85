"""Weights of the original give the original's numbers here, its checkpoints are read, and nothing in them runs.

The reference numbers were made with the original's own classes (branch master of 19 June 2024; that of the IPU port
has the same 2D and 3D networks) by this recipe: build the small configuration; fill each floating-point entry of
its state dict from its name (`filled`); images are `image()`; then logits in evaluation, in training (which updates
the running statistics) and in evaluation again. Of each plane four figures are kept: mean, standard deviation and
two single logits. Names are kept as a checksum of the sorted list of all keys. They lie in original_logits.json.
"""

import hashlib
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from cosmictagger.network import CONFIGURATIONS, build, configuration, upstream

SMALL = {"depth": 2, "n_initial_filters": 4, "bottleneck_deepest": 6, "blocks_final": 1}
#: what the original's networks give: their changes to SMALL, checksum of names, figures
REFERENCES = json.loads(Path(__file__).with_name("original_logits.json").read_text(encoding="utf-8"))
#: checksums of the names at full size
FULL_NAMES = {
    "uresnet": "63af2cae0b266504",
    "a21": "6e33f0bab475f086",
    "a21_2024": "7e202acac51e5af4",
    "polaris": "a413dcb5649ae007",
    "scc21": "d9807b0cc9405381",
    "uresnet3d": "c30ae4e6107ba8a9",
}


def numbers(name, count):
    """Numbers between 0 and 1 that depend on a name alone."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    steps = torch.arange(count, dtype=torch.int64) * 1103515245 + seed
    return ((steps % 2147483648).double() / 2147483648).float()


def filled(name, like):
    """The value of an entry of the original's state dict."""
    if not like.is_floating_point():
        return torch.zeros_like(like)
    value = numbers(name, like.numel()).view(like.shape)
    if like.dim() > 1:
        return (value - 0.5) * 2 * (3 / like[0].numel()) ** 0.5
    return value - 0.5 if name.endswith(("bias", "mean")) else value + 0.5


def image():
    scale = torch.tensor([1.0, 3.0, 10.0]).view(1, 3, 1, 1)
    return (numbers("image", 2 * 3 * 16 * 24).view(2, 3, 16, 24) - 0.3) * scale


def original_state(config):
    """A state dict of the original's network, filled."""
    ours = build(config).state_dict()
    return {theirs: filled(theirs, ours[name]) for name, theirs in upstream.names(config).items()}


def checksum(names):
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]


def figures(logits):
    return [
        float(each)
        for plane in logits
        for each in (plane.double().mean(), plane.double().std(), plane[1, 2, 5, 7], plane[0, 0, 15, 23])
    ]


@pytest.mark.parametrize("fold_planes", [False, True])
@pytest.mark.parametrize("label", REFERENCES)
@torch.no_grad()
def test_logits_are_those_of_the_original(label, fold_planes):
    reference = REFERENCES[label]
    config = configuration(label.split()[0], **(SMALL | reference["changes"]))
    state = original_state(config)
    assert checksum(state) == reference["names"]
    network = build(config, fold_planes)
    network.load_state_dict(upstream.from_upstream(state, config))
    for mode in ("evaluation", "training", "evaluation again"):
        network.train(mode == "training")
        # The reference has four decimals. In training, normalisation over a few values amplifies the rounding of
        # float32: the reference itself is up to 1.3e-4 from the same network in float64.
        tolerance = 3e-4 if mode == "training" else 1e-4
        assert figures(network(image())) == pytest.approx(reference[mode], rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("name", FULL_NAMES)
def test_names_are_those_of_the_original_at_full_size(name):
    assert checksum(upstream.names(CONFIGURATIONS[name]).values()) == FULL_NAMES[name]


@pytest.fixture
def config():
    return configuration("a21", **SMALL)


def test_the_way_there_and_back_changes_nothing(config):
    state = original_state(config)
    back = upstream.to_upstream(upstream.from_upstream(state, config), config)
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], state[name]) for name in state)


def test_a_checkpoint_is_read_with_the_prefix_of_distribution_and_a_numpy_learning_rate(config, tmp_path):
    state = original_state(config)
    path = tmp_path / "model-500.ckpt"
    torch.save(
        {
            "global_step": 500,
            "state_dict": {f"module.{name}": value for name, value in state.items()},
            "optimizer": {"param_groups": [{"lr": np.float64(1.7e-5)}]},
            "scheduler": {"last_epoch": 500, "_last_lr": [np.float64(1.7e-5)]},
        },
        path,
    )
    found = upstream.load(path, config)
    assert found.global_step == 500
    network = build(config)
    network.load_state_dict(found.state)
    assert torch.equal(network.head.weight, state["bottleneck.weight"])
    assert torch.equal(network.initial.norm.running_var, state["initial_convolution.norm.running_var"])


def test_a_bare_state_dict_is_read_as_well(config, tmp_path):
    torch.save(original_state(config), tmp_path / "weights.pt")
    assert upstream.load(tmp_path / "weights.pt", config).global_step == 0


class Mischief:
    def __reduce__(self):
        return print, ("this must not be printed",)


def test_a_file_that_would_run_code_is_refused_and_does_not_run(config, tmp_path, capsys):
    path = tmp_path / "model-1.ckpt"
    torch.save({"state_dict": original_state(config), "scheduler": Mischief()}, path)
    with pytest.raises(ValueError, match="could run code"):
        upstream.load(path, config)
    path.write_bytes(pickle.dumps(Mischief()))
    with pytest.raises(ValueError, match="was not read"):
        upstream.load(path, config)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 broken"])
def test_a_damaged_file_is_refused(config, tmp_path, content):
    path = tmp_path / "model-1.ckpt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="was not read"):
        upstream.load(path, config)


@pytest.mark.parametrize("content", [[1, 2], {"state_dict": 3}, {"state_dict": {1: torch.ones(1)}}])
def test_a_file_with_something_else_is_refused(config, tmp_path, content):
    torch.save(content, tmp_path / "model-1.ckpt")
    with pytest.raises(ValueError, match=r"not the dictionary|no state_dict"):
        upstream.load(tmp_path / "model-1.ckpt", config)


@pytest.mark.parametrize("step", [-1, 1.5, "5", float("nan"), torch.ones(2)])
def test_a_step_that_is_none_is_refused(config, tmp_path, step):
    torch.save({"state_dict": original_state(config), "global_step": step}, tmp_path / "model-1.ckpt")
    with pytest.raises(ValueError, match="global_step"):
        upstream.load(tmp_path / "model-1.ckpt", config)


def test_a_missing_file_is_missing(config, tmp_path):
    with pytest.raises(FileNotFoundError):
        upstream.load(tmp_path / "model-1.ckpt", config)


def test_weights_of_another_configuration_are_refused_with_a_name(config):
    state = original_state(config)
    with pytest.raises(ValueError, match=r"final_layer.blocks.1"):
        upstream.from_upstream(state, configuration("a21", **(SMALL | {"blocks_final": 2})))
    with pytest.raises(ValueError, match="has the shape"):
        upstream.from_upstream(state, configuration("a21", **(SMALL | {"bottleneck_deepest": 8})))


def test_what_is_written_for_the_original_is_read_without_executing_anything(config):
    file = io.BytesIO()
    torch.save(
        {"state_dict": upstream.to_upstream(build(config).state_dict(), config), "global_step": 1}, file
    )
    file.seek(0)
    assert torch.load(file, weights_only=True)["global_step"] == 1
