"""CTC beam search against the sum over all alignments."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.torch.ops.ctc import beam_search


def all_labellings(log_probs: torch.Tensor, blank: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every labelling of one sequence [frames, classes] with its log-probability, best first."""
    frames, classes = log_probs.shape
    found: dict[tuple[int, ...], list[float]] = {}
    for alignment in itertools.product(range(classes), repeat=frames):
        merged = [label for label, _ in itertools.groupby(alignment)]
        labels = tuple(label for label in merged if label != blank)
        score = sum(log_probs[t, c].item() for t, c in enumerate(alignment))
        found.setdefault(labels, []).append(score)
    totals = [
        (torch.tensor(s, dtype=torch.float64).logsumexp(0).item(), labels) for labels, s in found.items()
    ]
    return sorted(totals, reverse=True)


@given(
    frames=st.integers(1, 4), classes=st.integers(2, 4), seed=st.integers(0, 10_000), blank=st.integers(0, 1)
)
def test_equals_brute_force_with_a_wide_beam(frames: int, classes: int, seed: int, blank: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    log_probs = torch.randn(frames, 1, classes, generator=generator, dtype=torch.float64).log_softmax(-1)
    expected = all_labellings(log_probs[:, 0], blank)
    top = min(3, len(expected))
    scores, counts, paths = beam_search(log_probs, torch.tensor([frames]), blank, 1000, top)
    for place in range(top):
        assert scores[0, place].item() == pytest.approx(expected[place][0], abs=1e-9)
        length = int(counts[0, place])
        assert tuple(paths[0, place, :length].tolist()) == expected[place][1]
        assert paths[0, place, length:].eq(blank).all()


def test_only_valid_frames_count() -> None:
    log_probs = torch.randn(6, 2, 5).log_softmax(-1)
    both = beam_search(log_probs, torch.tensor([3, 6]), top_paths=2, beam_width=50)
    alone = beam_search(log_probs[:3, :1], torch.tensor([3]), top_paths=2, beam_width=50)
    assert torch.equal(both[0][:1], alone[0])
    assert torch.equal(both[2][:1, :, :3], alone[2])


def test_repeated_labels_need_a_blank_between() -> None:
    certain = torch.full((3, 1, 2), -20.0)
    for frame, label in enumerate((1, 0, 1)):
        certain[frame, 0, label] = 0.0
    _, counts, paths = beam_search(certain, torch.tensor([3]))
    assert counts.item() == 2
    assert paths[0, 0].tolist() == [1, 1, 0]


def test_a_narrow_beam_still_returns_valid_shapes() -> None:
    scores, counts, paths = beam_search(
        torch.randn(9, 3, 10), torch.tensor([5, 9, 7]), beam_width=4, top_paths=4
    )
    assert (scores.shape, counts.shape, paths.shape) == ((3, 4), (3, 4), (3, 4, 9))
    assert (scores[:, :-1] >= scores[:, 1:]).all()


def test_recorded_equals_direct(record: Any) -> None:
    log_probs = torch.randn(5, 2, 4).log_softmax(-1)
    lengths = torch.tensor([4, 5], dtype=torch.int32)
    recorded = record(lambda w, p, n: beam_search(p, n, beam_width=8), torch.zeros(5, 2, 4), lengths)
    for got, expected in zip(
        recorded(log_probs, lengths), beam_search(log_probs, lengths, beam_width=8), strict=True
    ):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((5, 2), {}, "input_length, batch_size"),
        ((5, 3, 4), {}, "one per sequence"),
        ((5, 2, 4), {"blank": 4}, "classes are 0 to 3"),
        ((5, 2, 4), {"beam_width": 2, "top_paths": 3}, "at most beam_width"),
    ],
)
def test_refusals(shape: tuple[int, ...], options: dict[str, int], message: str) -> None:
    with pytest.raises(Error, match=message):
        beam_search(torch.zeros(shape), torch.tensor([1, 1]), **options)
