"""A PopTorch program that a user might check with `mypy --strict`."""

import popdist
import popdist.poptorch
import poptorch
import torch


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with poptorch.Block("first", ipu_id=0):
            y: torch.Tensor = self.layer(x)
            return y, poptorch.identity_loss(y.sum(), reduction="none")


def main() -> None:
    distributed = popdist.isPopdistEnvSet()
    options = popdist.poptorch.Options() if distributed else poptorch.Options()
    options.deviceIterations(2).replicationFactor(1).randomSeed(42)
    options.Training.gradientAccumulation(4)
    options.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))
    options.outputMode(poptorch.OutputMode.All)
    data = torch.utils.data.TensorDataset(torch.rand(32, 4))
    loader = poptorch.DataLoader(options, data, batch_size=2, mode=poptorch.DataLoaderMode.Sync)
    size: int | None = loader.combinedBatchSize
    model = Model()
    optimizer = poptorch.optim.AdamW(model.parameters(), lr=1e-3, accum_type=torch.float32)
    training: poptorch.PoplarExecutor = poptorch.trainingModel(model, options, optimizer)
    for (batch,) in loader:
        training(batch)
    inference = poptorch.inferenceModel(model, poptorch.Options().logCycleCount(True))
    inference(torch.rand(1, 4))
    cycles: int = inference.cycleCount()
    instances: int = popdist.getNumInstances()
    print(size, cycles, instances)


if __name__ == "__main__":
    main()
