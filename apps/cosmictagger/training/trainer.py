"""Training: steps, validation, logs, tables, checkpoints, and an orderly end whatever happens."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from tqdm import tqdm

from cosmictagger.config.groups import ComputeMode, Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.data import event_loader
from cosmictagger.metrics.summary import Totals
from cosmictagger.training import building
from cosmictagger.training.checkpoints import Checkpoint, Checkpoints, Position
from cosmictagger.training.evaluation import weights_of
from cosmictagger.interruption import Interrupted, Interruption
from cosmictagger.training.logs import closing_lines, validation_line, training_line
from cosmictagger.training.on_host import HostTraining
from cosmictagger.training.on_ipu import IpuTraining
from cosmictagger.training.ranks import Ranks
from cosmictagger.training.records import Records
from cosmictagger.training.resuming import found_checkpoint
from cosmictagger.training.schedule import learning_rate
from cosmictagger.training.summaries import Summaries
from cosmictagger.training.validation import Validation

#: by which the best checkpoint is chosen
BEST_METRIC = "Average/mIoU"


class Diverged(RuntimeError):
    """The loss is no longer a number."""


def due(every: int, first: int, last: int) -> bool:
    """Whether a multiple of `every` is among first..last; 0 is never due."""
    return every > 0 and last // every * every >= first


class Trainer:
    """One training run.

    Args:
        config: its configuration.
        ranks: the processes of the run.
        folder: where everything goes.
        logger: the log of this process.
        events: its events.
    """

    def __init__(
        self, config: Config, ranks: Ranks, folder: Path, logger: logging.Logger, events: building.Events
    ) -> None:
        self.config, self.ranks, self.folder, self.log, self.events = config, ranks, folder, logger, events
        run, mode = config.run, config.mode
        if run.iterations % run.device_iterations:
            raise ConfigError(
                f"run.iterations={run.iterations} must be a multiple of "
                f"run.device_iterations={run.device_iterations}."
            )
        local = ranks.replicas // ranks.count
        self.combined = (
            run.minibatch_size * mode.optimizer.gradient_accumulation * run.device_iterations * local
        )
        whole = self.combined * ranks.count
        if whole > len(events.train):
            raise ConfigError(
                f"{len(events.train)} training events are too few for a call that takes {whole}: "
                "make run.minibatch_size, gradient_accumulation or run.device_iterations smaller."
            )
        self.network = building.network(config)
        self.position = Position(replicas=ranks.replicas)
        self.checkpoints = Checkpoints(folder / "checkpoints", mode.keep_checkpoints)
        found = found_checkpoint(config, self.checkpoints, logger)
        if found is None and mode.weights_location:
            weights, step = weights_of(Path(mode.weights_location).expanduser(), config)
            self.network.load_state_dict(weights)
            logger.info(f"Starting from the weights of {mode.weights_location} (step {step})")
        self.training: HostTraining | IpuTraining
        if run.compute_mode is ComputeMode.IPU:
            self.training = IpuTraining(config, self.network, ranks, folder)
        else:
            self.training = HostTraining(config, self.network)
        torch.manual_seed(run.seed)
        if found is not None:
            self._continue(found)
        self.images = ranks.first and not mode.no_summary_images and mode.summary_iteration > 0
        self.validation = None
        if run.aux_iterations and events.aux is not None:
            self.validation = Validation(config, ranks, events.aux, self.images)
        self._image_step: int | None = None
        self._last_call: float | None = None
        self._called = False

    def _continue(self, found: Checkpoint) -> None:
        self.position = found.position
        if found.position.done > len(self.events.train):
            raise ConfigError("The training events are fewer than when the checkpoint was written.")
        self.training.load(found.network, found.optimizer)
        if "torch" in found.random:
            torch.set_rng_state(found.random["torch"])
        if found.position.replicas == self.ranks.replicas and not self.ranks.index:
            self.training.set_random_state(found.position.random_words)
        self.position.replicas = self.ranks.replicas
        self.log.info(f"Restored step {self.position.step} from {self.checkpoints.path(self.position.step)}")

    def run(self) -> None:
        """Train to the end.

        Raises:
            Interrupted: a signal asked to stop; a checkpoint is written.
            Diverged: the loss is no longer a number; the last checkpoint is from before.
        """
        run, mode, position = self.config.run, self.config.mode, self.position
        if position.step >= run.iterations:
            self.log.info(f"The run has its {run.iterations} iterations already.")
            return
        records = summaries = None
        if self.ranks.first and mode.summary_iteration:
            records, summaries = Records(self.folder, position.step), Summaries(self.folder, position.step)
        bar = tqdm(
            total=run.iterations,
            initial=position.step,
            desc="Training",
            unit="step",
            disable=not run.progress,
        )
        source = self._batches()
        ends = [time.perf_counter()]
        saved = position.step
        try:
            with Interruption() as interruption, bar:
                while position.step < run.iterations:
                    first = position.step - run.device_iterations + 1
                    if position.step and due(run.aux_iterations, first, position.step):
                        self._validate(records, summaries)
                    stop = self._step(source, bar, interruption, records, summaries)
                    ends.append(time.perf_counter())
                    first = position.step - run.device_iterations + 1
                    if stop or due(mode.checkpoint_iteration, first, position.step):
                        self._save()
                        saved = position.step
                    if stop:
                        raise Interrupted(stop, position.step)
                self._validate(records, summaries)
                if saved != position.step:
                    self._save()
        finally:
            source.close()
            for each in (records, summaries):
                if each is not None:
                    each.close()
        for line in closing_lines(ends, self.combined):
            self.log.info(line)
        self.log.info(f"Parameters after step {position.step}: sha256 {self._digest()}")

    def _batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        run, data, position = self.config.run, self.config.data, self.position
        loader = event_loader(
            self.events.train,
            self.combined if self.training.options is None else run.minibatch_size,
            options=self.training.options,
            workers=data.workers,
            mode=str(data.loading),
            seed=run.seed,
            rank=self.ranks.index,
            ranks=self.ranks.count,
            epoch=position.epoch,
            done=position.done,
            **({} if self.training.options is not None else {"generator": torch.Generator()}),
        )
        try:
            while True:
                for image, label, _ in loader:
                    yield image, label
                position.epoch, position.done = position.epoch + 1, 0
        finally:
            terminate = getattr(loader, "terminate", None)
            if terminate is not None:
                terminate()

    def _step(
        self,
        source: Iterator[tuple[torch.Tensor, torch.Tensor]],
        bar: tqdm,
        interruption: Interruption,
        records: Records | None,
        summaries: Summaries | None,
    ) -> int:
        """One call of the model; the signal that asks to stop, or 0."""
        run, mode, position = self.config.run, self.config.mode, self.position
        begin = time.perf_counter()
        image, label = next(source)
        fetched = time.perf_counter()
        epochs = position.seen / len(self.events.train)
        rate = learning_rate(mode.optimizer, run.iterations, position.step, epochs)
        counts, losses = self.training.train(image, label, rate)
        end = time.perf_counter()
        if not self._called and isinstance(self.training, IpuTraining):
            self.log.info(self.training.first_call(end - fetched, self.combined))
        self._called = True
        before, shown = position.step, position.step + run.device_iterations - 1
        position.step += run.device_iterations
        position.done += self.combined * self.ranks.count
        position.seen += self.combined * self.ranks.count
        metrics, stop = self.ranks.metrics(
            Totals.of(counts.numpy(), float(losses.mean())), interruption.signal
        )
        self._check(metrics, shown, rate)
        # from one end to the next, so that all that happens in between counts
        took = None if self._last_call is None else end - self._last_call
        self._last_call = end
        speed = None if not took else self.combined / took
        if due(mode.logging_iteration, before, shown):
            self.log.info(training_line(shown, metrics, speed, fetched - begin, end - fetched))
        if records is not None and due(mode.summary_iteration, before, shown):
            times = {"learning_rate": rate, "io_fetch_time": fetched - begin, "step_time": end - begin}
            if took:
                times |= {
                    "images_per_second": self.combined * self.ranks.count / took,
                    "global_step_per_sec": run.device_iterations / took,
                }
            else:
                times |= {"images_per_second": math.nan, "global_step_per_sec": math.nan}
            records.add("train", {"step": shown, "epoch": epochs, **metrics, **times})
            if summaries is not None:
                summaries.scalars("train", shown, metrics | times)
        bar.update(run.device_iterations)
        bar.set_postfix(loss=f"{metrics['loss']:.3f}", mIoU=f"{metrics['Average/mIoU']:.3f}", refresh=False)
        return stop

    def _check(self, metrics: dict[str, float], step: int, rate: float) -> None:
        if math.isfinite(metrics["loss"]):
            return
        steps = self.checkpoints.steps()
        last = (
            f"the last good checkpoint is {self.checkpoints.path(steps[-1])}"
            if steps
            else "there is no checkpoint"
        )
        raise Diverged(
            f"The loss is {metrics['loss']} at step {step}, with the learning rate {rate:.3g} "
            f"(Average/mIoU {metrics[BEST_METRIC]:.3g}): training stopped; {last}. "
            "A smaller mode.optimizer.learning_rate, or run.precision=float32, may help."
        )

    def _validate(self, records: Records | None, summaries: Summaries | None) -> None:
        if self.validation is None:
            return
        position = self.position
        weights = self.training.weights()
        self.training.release()
        found = self.validation.run(weights, position.step)
        self.log.info(validation_line(position.step, found.metrics, found.local_speed))
        # the next step's time begins here
        self._last_call = time.perf_counter()
        if records is not None and summaries is not None:
            values = found.metrics | {"images_per_second": found.speed}
            records.add("test", {"step": position.step, **values})
            summaries.scalars("test", position.step, values)
            self._image(summaries, found.shown)
        score = found.metrics[BEST_METRIC]
        if math.isfinite(score) and (position.best is None or score > position.best):
            position.best, position.best_step = score, position.step
            if self.ranks.first:
                self.checkpoints.save(self._checkpoint(weights), best=True)

    def _image(self, summaries: Summaries, shown: tuple[int, object] | None) -> None:
        every, step = self.config.mode.summary_image_iteration, self.position.step
        if shown is None or (self._image_step is not None and step // every == self._image_step // every):
            return
        from cosmictagger.display.drawing import summary_image  # matplotlib takes a second to import

        assert self.events.aux is not None
        self._image_step = step
        number, classes = shown
        event = self.events.aux.source.read(number)
        pixels = summary_image(event, classes, self.config.data.downsample)
        summaries.image("test", step, "event", pixels)

    def _checkpoint(self, weights: dict[str, torch.Tensor]) -> Checkpoint:
        optimizer = self.training.optimizer_state()
        self.position.random_words = self.training.random_state()
        return Checkpoint(
            self.position,
            weights,
            optimizer,
            {"torch": torch.get_rng_state()},
            self.config.network.to_plain(),
            str(self.config.mode.optimizer.name),
            str(self.config.run.precision),
            str(self.config.run.compute_mode),
        )

    def _save(self) -> None:
        if not self.ranks.first:
            return
        path = self.checkpoints.save(self._checkpoint(self.training.weights()))
        self.log.info(f"Saved {path}")

    def _digest(self) -> str:
        """Of the parameters: the same on all processes that train one model."""
        names = {name for name, _ in self.network.named_parameters()}
        digest = hashlib.sha256()
        for name, value in self.training.weights().items():
            if name in names:
                digest.update(value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]
