"""Training on IPUs: updates, validation, checkpoints, and when to stop.

A run is one folder: `config.yaml`, `history.csv`, `checkpoints/`. Started again it goes on where it was, to the bit
on one process. Several processes under poprun train one model: they see one order of samples, sum their gradients,
and decide together when to stop.
"""

from __future__ import annotations

import csv
import functools
import io
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cosmoflow import checkpoints
from cosmoflow.data.dataset import Source, sample_loader
from cosmoflow.data.sources import needed, source_of
from tremula.atomic_files import atomic_path
from cosmoflow.evaluation import predict
from cosmoflow.network import REACH, TARGETS, parameter_count
from cosmoflow.on_device import EvaluatedModel, TrainedModel
from cosmoflow.processes import Processes
from cosmoflow.schedule import Schedule
from cosmoflow.settings import Config, ConfigError


class NotFinite(RuntimeError):
    """Training went astray: the loss is not a finite number."""


class Interrupted(Exception):
    """The user asked to stop; what there was has been saved."""


class Trainer:
    """One training run.

    Args:
        config: the settings.
        processes: the processes of the run.
        tell: what to do with a line of the log; the first process only.
    """

    def __init__(self, config: Config, processes: Processes, tell: Callable[[str], None] = print) -> None:
        self.config, self.processes = config, processes
        self._tell = tell if processes.first else lambda line: None
        self.folder = Path(config.output)
        self._checkpoints = self.folder / "checkpoints"
        self.source: Source = needed(config, "train", processes)
        self.validation = source_of(config, "validation", processes)
        device = config.device
        #: samples of one update, and of one call, over all processes
        self.global_batch = device.batch * device.accumulation * processes.replicas
        self.call_samples = self.global_batch * device.iterations
        self.calls = len(self.source) // self.call_samples
        if not self.calls:
            raise ConfigError(
                f"{len(self.source)} training samples do not fill one call of the model, which takes "
                f"{self.call_samples}: make device.batch, device.accumulation, device.iterations or the "
                "number of replicas smaller."
            )
        train = config.train
        try:
            self.schedule = Schedule(
                train.rate,
                train.rate_batch,
                self.global_batch,
                train.warmup,
                tuple(train.decay_epochs),
                tuple(train.decay_factors),
            )
        except ValueError as problem:
            raise ConfigError(str(problem)) from problem
        self._evaluated: EvaluatedModel | None = None
        self.epoch = self.done = self.step = 0
        self.best = math.inf
        self.history: list[dict[str, float]] = []
        self._stop_asked = False

    @functools.cached_property
    def model(self) -> TrainedModel:
        """The model, made when it is first needed: a run that is complete needs none."""
        return TrainedModel(self.config, self.processes)

    # -- the run -------------------------------------------------------------------------------------------------

    def run(self) -> list[dict[str, float]]:
        """Train until the last epoch or the target; one row of figures for each validation.

        Raises:
            NotFinite: the loss is not finite; the newest checkpoint is from before.
            Interrupted: the user stopped it; a checkpoint was written.
        """
        state = self._found()
        self._write("config.yaml", self.config.as_yaml())
        if state is not None:
            self.epoch, self.done, self.step = state["epoch"], state["done"], state["step"]
            self.best, self.history = state["best"], state["history"]
            if self.epoch >= self.config.train.epochs or self._reached():
                self._tell(f"The run in {self.folder} is complete: {self.epoch} epochs, {self.step} updates.")
                return self.history
        variant = self.config.variant
        self._tell(
            f"Network {self.config.network.variant}: {variant.size}^3 x 4, {parameter_count(self.model.network):,} "
            f"parameters, {self.config.device.precision}. {len(self.source)} training samples, global batch "
            f"{self.global_batch}, updates per call {self.call_samples // self.global_batch}, replicas "
            f"{self.processes.replicas}, processes {self.processes.count}."
        )
        with self._interruptible():
            self._train(state)
        return self.history

    def _found(self) -> dict[str, Any] | None:
        paths = checkpoints.numbered(self._checkpoints)
        if self.config.train.resume:
            return checkpoints.load(paths[-1]) if paths else None
        self.processes.wait()  # all have looked before they go
        if self.processes.first:
            for path in (*paths, self._checkpoints / checkpoints.BEST):
                path.unlink(missing_ok=True)
        return None

    def _train(self, state: dict[str, Any] | None) -> None:
        config = self.config
        # stopped at the very end of an epoch, or with smaller batches
        if self.done + self.call_samples > len(self.source):
            self.epoch, self.done = self.epoch + 1, 0
        loader = sample_loader(
            self.source,
            self.model.options,
            config.device.batch,
            workers=config.data.workers,
            ahead=config.data.ahead,
            seed=config.seed,
            augment=config.data.augment,
            rank=self.processes.index,
            ranks=self.processes.count,
            epoch=self.epoch,
            done=self.done,
        )
        try:
            while self.epoch < config.train.epochs and not self._reached():
                self._train_epoch(loader, state)
                state = None
        finally:
            if config.data.ahead:
                loader.terminate()
            self.model.release()

    def _train_epoch(self, loader: Any, state: dict[str, Any] | None) -> None:
        begin, total, seen = time.perf_counter(), np.zeros(TARGETS + 1), 0
        call, due = self.done // self.call_samples, self.config.train.validate_every * self.calls
        for counts, targets, _ in loader:
            if state is not None:
                same = self.processes.count == 1  # other processes had random numbers of their own
                self.model.load(state, counts, targets, random=same)
                self._tell(f"Going on at epoch {self.epoch + 1}, after {self.step} updates.")
                state = None
            call += 1
            rate = self.schedule.rate(self.epoch + call / self.calls)
            self.model.set_rate(rate)
            figures, stop = self._call(counts, targets)
            total, seen = total + figures, seen + 1
            self.step += self.call_samples // self.global_batch
            self.done += self.call_samples
            if not np.isfinite(figures).all():
                raise NotFinite(
                    f"The loss is {figures[-1]} after {self.step} updates (epoch {self.epoch + 1}). The newest "
                    f"checkpoint in {self._checkpoints} is from before. Try a lower train.rate, a longer train.warmup"
                    + (", or another device.loss_scaling." if self.config.device.precision == "half" else ".")
                )
            if call % self.config.train.log_every == 0 or call == self.calls:
                seconds, n = time.perf_counter() - begin, seen * self.call_samples
                self._tell(
                    f"epoch {self.epoch + 1} update {self.step} loss {total[-1] / seen:.5f} "
                    f"MAE {total[:-1].mean() / seen:.4f} rate {rate:.3g} ({n / seconds:.1f} samples/s measured)"
                )
            if stop:
                self._save(best=False)
                raise Interrupted(
                    f"Stopped after {self.step} updates; continue from there with train.resume=true."
                )
            overall = self.epoch * self.calls + call
            if call < self.calls and overall // due > (overall - 1) // due:
                self._validate(total / seen, rate, ended=False)
                if self._reached():
                    return
        overall = (self.epoch + 1) * self.calls
        self.epoch, self.done = self.epoch + 1, 0
        last = self.epoch == self.config.train.epochs
        if last or overall // due > (overall - 1) // due:
            self._validate(total / max(1, seen), self.schedule.rate(self.epoch), ended=last)

    def _call(self, counts: torch.Tensor, targets: torch.Tensor) -> tuple[np.ndarray, bool]:
        """Errors and loss of one call, means over all processes; and whether somebody was asked to stop."""
        errors, losses = self.model.train(counts, targets)
        mine = [*errors.double().mean(0).tolist(), float(losses.double().mean()), float(self._stop_asked)]
        sums = self.processes.sums(mine)
        return np.array(sums[:-1]) / self.processes.count, sums[-1] > 0

    # -- validation and checkpoints --------------------------------------------------------------------------------

    def _validate(self, training: np.ndarray, rate: float, *, ended: bool) -> None:
        row = {"epoch": self.epoch + self.done / len(self.source), "update": float(self.step), "rate": rate}
        row |= {"train_loss": float(training[-1]), "train_mae": float(training[:-1].mean())}
        better = False
        if self.validation is not None:
            begin = time.perf_counter()
            weights = self.model.weights()
            self.model.release()
            if self._evaluated is None:
                self._evaluated = EvaluatedModel(self.config, self.processes)
            self._evaluated.load(weights)
            found = predict(
                self._evaluated,
                self.validation,
                self.processes,
                batch=self.config.inference.batch or self.config.device.batch,
                workers=self.config.data.workers,
            )
            self._evaluated.release()
            row["validation_loss"] = float(((found.predicted - found.truth) ** 2).mean())
            row["validation_mae"] = float(found.mae.mean())
            row |= {f"validation_mae_{i + 1}": float(value) for i, value in enumerate(found.mae)}
            if float(np.abs(found.predicted).min()) > 0.99 * REACH:
                self._tell(
                    "All predictions are at the ends of the tangent, where nothing is learnt any more: start "
                    "again with a lower train.rate or a longer train.warmup."
                )
            better = row["validation_mae"] < self.best
            self.best = min(self.best, row["validation_mae"])
            self._tell(
                f"validation after epoch {row['epoch']:.2f}: MAE {row['validation_mae']:.4f} "
                f"({', '.join(f'{value:.3f}' for value in found.mae)}), loss {row['validation_loss']:.5f}, "
                f"{len(self.validation)} samples, {time.perf_counter() - begin:.1f} s"
            )
        self.history.append(row)
        self._write_history()
        reached = self._reached()
        if better or ended or reached or len(self.history) % self.config.train.checkpoint_every == 0:
            self._save(best=better or self.validation is None)
        if reached:
            self._tell(f"Target reached: validation MAE {self.best:.4f} <= {self.config.train.target}.")

    def _reached(self) -> bool:
        return self.config.train.target is not None and self.best <= self.config.train.target

    def _save(self, *, best: bool) -> None:
        if not self.processes.first:
            return
        state = {
            "epoch": self.epoch,
            "done": self.done,
            "step": self.step,
            "best": self.best,
            "history": self.history,
        }
        checkpoints.save(
            self._checkpoints, {**self.model.state(), **state}, keep=self.config.train.keep, best=best
        )

    def _write_history(self) -> None:
        text = io.StringIO()
        names = list(dict.fromkeys(name for row in self.history for name in row))
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.history)
        self._write("history.csv", text.getvalue())

    def _write(self, name: str, text: str) -> None:
        if self.processes.first:
            with atomic_path(self.folder / name) as draft:
                draft.write_text(text, encoding="utf-8")

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """The first Ctrl-C lets the update end and saves; the second one ends the program."""

        def ask(number: int, frame: object) -> None:
            if self._stop_asked:
                raise KeyboardInterrupt
            self._stop_asked = True
            self._tell("Stopping after this call; press Ctrl-C again to leave at once, without saving.")

        before = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                before[number] = signal.signal(number, ask)
            except ValueError:  # not the main thread: whoever runs us there sees to signals
                break
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
