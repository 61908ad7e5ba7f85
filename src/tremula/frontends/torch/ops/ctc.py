"""Prefix beam search for connectionist temporal classification (Graves 2012; Hannun et al. 2014). That unused places
of a path hold the blank is our choice; the public interface does not say.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tremula.errors import Error
from tremula.frontends.torch.ops.library import add_op

_NEVER = float("-inf")


@dataclass
class _Beam:
    """Labellings and their log-probabilities, all in the same order."""

    labels: list[tuple[int, ...]]
    ends_blank: torch.Tensor
    ends_label: torch.Tensor

    def total(self) -> torch.Tensor:
        return torch.logaddexp(self.ends_blank, self.ends_label)


def _advance(beam: _Beam, frame: torch.Tensor, blank: int, width: int) -> _Beam:
    """The beam after one more frame of log-probabilities (one per class)."""
    count = len(beam.labels)
    total = beam.total()
    stay_blank = total + frame[blank]
    last = torch.tensor([labels[-1] if labels else blank for labels in beam.labels])
    stay_label = torch.where(last == blank, _NEVER, beam.ends_label + frame[last])
    # A repeated class only starts a new label after a blank.
    grow = total.unsqueeze(1).repeat(1, frame.numel())
    rows = torch.arange(count)
    grow[rows, last] = torch.where(last == blank, total, beam.ends_blank)
    grow = grow + frame
    grow[:, blank] = _NEVER
    index = {labels: row for row, labels in enumerate(beam.labels)}
    for row, labels in enumerate(beam.labels):
        parent = index.get(labels[:-1]) if labels else None
        if parent is not None:  # growing the parent gives this very labelling
            stay_label[row] = torch.logaddexp(stay_label[row], grow[parent, labels[-1]])
            grow[parent, labels[-1]] = _NEVER
    scores = torch.cat((torch.logaddexp(stay_blank, stay_label), grow.flatten()))
    best = torch.sort(scores, descending=True, stable=True).indices[: min(width, scores.numel())]
    best = best[(scores[best] > _NEVER) | (torch.arange(best.numel()) == 0)]
    labels_next: list[tuple[int, ...]] = []
    for candidate in best.tolist():
        if candidate < count:
            labels_next.append(beam.labels[candidate])
        else:
            row, label = divmod(candidate - count, frame.numel())
            labels_next.append((*beam.labels[row], label))
    never = torch.full_like(grow.flatten(), _NEVER)
    return _Beam(
        labels_next,
        torch.cat((stay_blank, never))[best],
        torch.cat((stay_label, grow.flatten()))[best],
    )


def _decode(
    log_probs: torch.Tensor, lengths: torch.Tensor, blank: int, beam_width: int, top_paths: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    frames, batch, _ = log_probs.shape
    scores = torch.full((batch, top_paths), _NEVER, dtype=torch.float64)
    path_lengths = torch.zeros((batch, top_paths), dtype=torch.int32)
    paths = torch.full((batch, top_paths, frames), blank, dtype=torch.int32)
    precise = log_probs.detach().to(torch.float64)
    for sample, length in enumerate(lengths.tolist()):
        beam = _Beam([()], torch.zeros(1, dtype=torch.float64), torch.full((1,), _NEVER, dtype=torch.float64))
        for frame in precise[: int(length), sample]:
            beam = _advance(beam, frame, blank, beam_width)
        order = torch.sort(beam.total(), descending=True, stable=True).indices[:top_paths].tolist()
        for place, row in enumerate(order):
            labels = beam.labels[row]
            scores[sample, place] = beam.total()[row]
            path_lengths[sample, place] = len(labels)
            paths[sample, place, : len(labels)] = torch.tensor(labels, dtype=torch.int32)
    return scores.to(log_probs.dtype), path_lengths, paths


def _fake(
    log_probs: torch.Tensor, lengths: torch.Tensor, blank: int, beam_width: int, top_paths: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    frames, batch, _ = log_probs.shape
    return (
        log_probs.new_empty((batch, top_paths)),
        log_probs.new_empty((batch, top_paths), dtype=torch.int32),
        log_probs.new_empty((batch, top_paths, frames), dtype=torch.int32),
    )


_beam_search = add_op(
    "ctc_beam_search(Tensor log_probs, Tensor lengths, int blank, int beam_width, int top_paths) "
    "-> (Tensor, Tensor, Tensor)",
    _decode,
    _fake,
)


def beam_search(
    log_probs: torch.Tensor, lengths: torch.Tensor, blank: int = 0, beam_width: int = 100, top_paths: int = 1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Per sequence the most likely labellings: log-probabilities [batch, top_paths], label counts [batch, top_paths]
    and labels [batch, top_paths, frames], filled up with `blank`; `log_probs` is [frames, batch, classes].
    """
    if log_probs.dim() != 3:
        raise Error(
            "ctc_beam_search_decoder: the log-probabilities must have the shape [input_length, batch_size, "
            f"num_classes]; got {list(log_probs.shape)}."
        )
    _, batch, classes = log_probs.shape
    if tuple(lengths.shape) != (batch,):
        raise Error(
            f"ctc_beam_search_decoder: lengths must have the shape [{batch}], one per sequence; got "
            f"{list(lengths.shape)}."
        )
    if not 0 <= blank < classes:
        raise Error(f"ctc_beam_search_decoder: blank is {blank}, but the classes are 0 to {classes - 1}.")
    if not 1 <= top_paths <= beam_width:
        raise Error(
            f"ctc_beam_search_decoder: top_paths ({top_paths}) must be at least 1 and at most beam_width "
            f"({beam_width})."
        )
    probabilities, counts, labels = _beam_search(log_probs, lengths, blank, beam_width, top_paths)
    return probabilities, counts, labels
