"""What a training shows and leaves as it goes: a progress bar, a line an epoch, the learning curve in MLflow, the
checkpoint."""

import logging
import time
from collections.abc import Callable

from pipeline.config.train import Train
from pipeline.core.training.trainer import Epoch, Progress, Watch
from pipeline.running import tracking
from pipeline.running.checkpoint import Checkpoint, is_to_stop
from pipeline.running.processes import Ranks
from pipeline.running.progress import Bar

log = logging.getLogger(__name__)


class TrainingWatch(Bar, Watch):
    """Shows a training as a progress bar with a line for each epoch, logs the learning curve in MLflow, and writes the
    checkpoint. For the methods see Watch and Watcher."""

    def __init__(self, config: Train, ranks: Ranks, file: Checkpoint, run: tracking.Run):
        super().__init__(config.name, visible=ranks.first)
        self.kind = "corrected" if config.recipe.stopping_corrected else "raw"  # of the validation perplexity
        self.file = file
        self.run = run
        self.start = time.perf_counter()  # of the part of the work that is under way
        self.saved = Progress()  # of the last checkpoint

    def resume(self) -> dict | None:
        state = self.file.read()
        if state is not None:
            self.saved = Progress(**state["progress"])
            log.info("resuming after epoch %d, step %d", self.saved.epoch, self.saved.step)
        return state

    def begin(self, amount: int, title: str = "", done: int = 0) -> None:
        self.bar.total = self.bar.n  # early stopping may have ended the part before
        super().begin(amount, title, done)
        self.start = time.perf_counter()

    def advance(self, amount: int) -> None:
        super().advance(amount)
        if is_to_stop():
            raise self._stopped()

    def step(self, progress: Progress, words: int) -> None:
        self.bar.update(words)
        if progress.perplexity:
            self.bar.set_postfix(epoch=progress.epoch + 1, training=f"{progress.perplexity:.1f}", refresh=False)

    def epoch(self, epoch: Epoch) -> None:
        log.info(
            "epoch %d: training %.1f (running), validation %.1f (%s, on %s tokens of it)",
            epoch.epoch,
            epoch.train_perplexity,
            epoch.valid_perplexity,
            self.kind,
            f"{epoch.valid_tokens:,}",
        )
        # The curve has this epoch, since `save` came first. The call may begin the run, so it reads the id.
        self.run.call(lambda: tracking.log_curve(self.run.id, self.saved.curve))

    def save(self, state: dict) -> None:
        self.file.write(state)
        self.saved = Progress(**state["progress"])

    def look(self, save: Callable[[], None]) -> None:
        self.run.begin_when_due()
        if self.file.tick(save):
            raise self._stopped()

    def _stopped(self) -> KeyboardInterrupt:
        place = f"after epoch {self.saved.epoch}, step {self.saved.step}; the state is saved in {self.file.path}"
        return KeyboardInterrupt(f"{place}; repeat the command to resume from there")
