"""Train one model in two processes: `poprun --num-instances 2 --num-replicas 2 python poprun_training.py`."""

import popdist
import popdist.poptorch
import poptorch
import torch


class Model(torch.nn.Module):
    """Linear regression."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, y):
        output = self.layer(x)
        return output, torch.nn.functional.mse_loss(output, y)


def main():
    torch.manual_seed(0)
    model = Model()
    options = popdist.poptorch.Options() if popdist.isPopdistEnvSet() else poptorch.Options()
    options.randomSeed(1)
    x = torch.rand(512, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    loader = poptorch.DataLoader(options, data, batch_size=16, shuffle=True, drop_last=True)
    training_model = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(20):
        for features, target in loader:
            training_model(features, target)
    training_model.copyWeightsToHost()
    weights = ", ".join(f"{value:.3f}" for value in model.layer.weight[0].tolist())
    print(f"instance {popdist.getInstanceIndex()} of {popdist.getNumInstances()}: weights {weights}")


if __name__ == "__main__":
    main()
