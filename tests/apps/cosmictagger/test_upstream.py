"""Weights of the original give the original's numbers here, its checkpoints are read, and nothing in them runs.

The reference numbers were made with the original's own classes (branch master of 19 June 2024; that of the IPU port
has the same 2D and 3D networks) by this recipe: build the small configuration; fill each floating-point entry of
its state dict from its name (`filled`); images are `image()`; then logits in evaluation, in training (which updates
the running statistics) and in evaluation again. Of each plane four figures are kept: mean, standard deviation and
two single logits. Names are kept as a checksum of the sorted list of all keys.
"""

import hashlib
import io
import pickle

import numpy as np
import pytest
import torch
from cosmictagger.network import CONFIGURATIONS, build, configuration, upstream

SMALL = {"depth": 2, "n_initial_filters": 4, "bottleneck_deepest": 6, "blocks_final": 1}
OTHERWISE = {"downsampling": "convolutional", "upsampling": "convolutional"}
#: label: (changes, checksum of names, figures in evaluation, in training, in evaluation again)
REFERENCES = {
    "uresnet": (
        {},
        "e88e86128c7a2e9f",
        [
            0.7854,
            5.7261,
            -8.4702,
            0.1294,
            3.1922,
            20.9637,
            -24.2553,
            7.4197,
            8.1957,
            52.5717,
            0.9376,
            -0.4655,
        ],
        [
            0.2743,
            1.8451,
            -0.434,
            1.3169,
            0.2731,
            1.8294,
            -2.8148,
            0.4985,
            0.2797,
            1.868,
            -1.4339,
            0.4244,
        ],
        [
            0.0522,
            0.9008,
            -1.1097,
            0.2117,
            0.5861,
            4.5377,
            -3.5894,
            0.8852,
            2.2145,
            15.3401,
            -0.0073,
            0.2932,
        ],
    ),
    "a21": (
        {},
        "0ad80746790c632a",
        [
            0.0424,
            0.4688,
            -0.5157,
            0.1926,
            0.0288,
            0.4324,
            -0.3867,
            0.1724,
            0.0029,
            0.437,
            -0.1225,
            0.0654,
        ],
        [
            0.0582,
            0.7544,
            -0.9257,
            0.5863,
            0.057,
            0.7417,
            -0.0246,
            0.5511,
            0.0577,
            0.7361,
            -0.1812,
            0.6335,
        ],
        [
            0.0415,
            0.4663,
            -0.4726,
            0.178,
            0.0359,
            0.451,
            -0.3904,
            0.1434,
            0.0035,
            0.4127,
            -0.1925,
            -0.0015,
        ],
    ),
    "a21_2024": (
        {"blocks_final": 0},
        "ecfdda0925c01400",
        [
            -0.1332,
            0.3209,
            -0.1946,
            -0.5105,
            -0.0948,
            0.9159,
            0.0511,
            -0.5925,
            0.1266,
            3.704,
            0.8499,
            -1.3717,
        ],
        [
            -0.0649,
            0.3859,
            -1.0901,
            -0.2291,
            -0.0655,
            0.3859,
            -0.0495,
            -0.2255,
            -0.065,
            0.3843,
            0.0057,
            -0.3804,
        ],
        [
            -0.1034,
            0.2652,
            -0.1664,
            -0.4447,
            -0.1141,
            0.3316,
            -0.0643,
            -0.4747,
            -0.0392,
            1.37,
            0.2402,
            -0.7677,
        ],
    ),
    "polaris": (
        {},
        "f1a9d18805b694c7",
        [
            0.037,
            0.4554,
            -0.4592,
            0.2199,
            -0.0029,
            0.4617,
            -0.1349,
            0.1655,
            -0.0421,
            1.147,
            -0.017,
            -1.5463,
        ],
        [
            0.0587,
            0.7393,
            -0.5726,
            0.7582,
            0.0569,
            0.739,
            0.0101,
            0.7994,
            0.0534,
            0.7108,
            -0.1956,
            0.308,
        ],
        [
            0.0632,
            0.5292,
            -0.5733,
            0.2364,
            0.035,
            0.4542,
            -0.3675,
            0.2196,
            -0.0093,
            0.6157,
            -0.188,
            -0.7316,
        ],
    ),
    "scc21": (
        {},
        "537af764cad558fa",
        [
            0.1161,
            1.3016,
            -2.2709,
            -0.1925,
            0.5454,
            4.0997,
            -6.3524,
            0.5206,
            1.6715,
            11.3994,
            0.9466,
            -0.1742,
        ],
        [
            0.1161,
            1.3016,
            -2.2709,
            -0.1925,
            0.5454,
            4.0997,
            -6.3524,
            0.5206,
            1.6715,
            11.3994,
            0.9466,
            -0.1742,
        ],
        [
            0.1161,
            1.3016,
            -2.2709,
            -0.1925,
            0.5454,
            4.0997,
            -6.3524,
            0.5206,
            1.6715,
            11.3994,
            0.9466,
            -0.1742,
        ],
    ),
    "uresnet3d": (
        {},
        "16fc0ddb6b8be9c7",
        [
            1.0612,
            4.669,
            -4.3516,
            3.96,
            1.7522,
            7.7376,
            -5.5159,
            4.4126,
            3.7853,
            16.9892,
            -26.1983,
            7.3745,
        ],
        [
            0.0844,
            0.9899,
            -1.5192,
            -0.1457,
            0.1032,
            1.3212,
            0.2359,
            -0.2757,
            0.3182,
            2.0419,
            -0.472,
            0.405,
        ],
        [
            0.5699,
            2.6196,
            -2.6948,
            2.7188,
            0.8941,
            4.0625,
            -3.0377,
            3.0301,
            1.9928,
            8.9374,
            -13.1093,
            4.1792,
        ],
    ),
    "a21 otherwise": (
        {
            "connections": "none",
            "growth_rate": "multiplicative",
            "downsampling": "convolutional",
            "upsampling": "convolutional",
        },
        "f762d66c10325252",
        [
            0.0462,
            0.4784,
            -0.4836,
            0.1885,
            0.0463,
            0.4786,
            -0.4839,
            0.1899,
            0.0462,
            0.4785,
            -0.4826,
            0.1898,
        ],
        [
            0.0565,
            0.723,
            -0.1002,
            0.33,
            0.0556,
            0.7322,
            -0.4503,
            0.0571,
            0.0518,
            0.6993,
            -0.2961,
            0.1098,
        ],
        [
            0.0461,
            0.4777,
            -0.4833,
            0.1784,
            0.0463,
            0.4783,
            -0.4854,
            0.1824,
            0.0462,
            0.478,
            -0.4816,
            0.1815,
        ],
    ),
    "uresnet apart": (
        {"block_concat": True, "bias": False},
        "8996a1e57b407c63",
        [
            1.5913,
            10.258,
            -11.8412,
            -0.0911,
            3.6257,
            23.3158,
            -28.3073,
            9.4371,
            10.666,
            68.7643,
            1.4668,
            -0.5601,
        ],
        [
            0.3237,
            1.7748,
            -0.6779,
            1.5091,
            0.3163,
            1.7379,
            -3.0601,
            1.1852,
            0.3249,
            1.7712,
            -2.2954,
            0.9012,
        ],
        [
            0.2847,
            2.1,
            -2.7511,
            0.1949,
            0.8897,
            6.1001,
            -5.0081,
            1.8297,
            2.5537,
            17.3581,
            0.1641,
            0.2647,
        ],
    ),
    "uresnet3d otherwise": (
        {
            "residual": False,
            "connections": "sum",
            "downsampling": "convolutional",
            "upsampling": "convolutional",
        },
        "a6f4ead377e1f8c5",
        [
            0.216,
            1.1331,
            -1.4287,
            1.1419,
            0.3472,
            2.2839,
            0.0052,
            0.1944,
            0.9666,
            7.3302,
            -5.7495,
            -1.0777,
        ],
        [
            0.0503,
            0.8881,
            -0.0844,
            -0.2249,
            0.0294,
            0.706,
            -0.193,
            -0.2266,
            0.1595,
            1.7597,
            -4.5316,
            -0.2409,
        ],
        [
            0.1738,
            0.9143,
            -1.0625,
            0.7573,
            0.2323,
            1.4349,
            -0.1892,
            0.248,
            0.6021,
            4.4566,
            -3.0421,
            -0.4637,
        ],
    ),
}
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
    changes, names, *expected = REFERENCES[label]
    config = configuration(label.split()[0], **(SMALL | changes))
    state = original_state(config)
    assert checksum(state) == names
    network = build(config, fold_planes)
    network.load_state_dict(upstream.from_upstream(state, config))
    for training, values in zip((False, True, False), expected, strict=True):
        network.train(training)
        assert figures(network(image())) == pytest.approx(values, rel=1e-4, abs=1e-4)


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
