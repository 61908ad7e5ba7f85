"""A small classifier with data, for pages whose snippets take a model for granted."""

import torch

import poptorch


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.Linear(32, 10))
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, images, labels):
        output = self.layer(images)
        return output, self.loss(output, labels)


images, labels = torch.rand(16, 8, 8), torch.randint(0, 10, (16,))
digits = torch.utils.data.TensorDataset(torch.rand(160, 8, 8), torch.randint(0, 10, (160,)))
model = Network()
options = poptorch.Options()
optimizer = poptorch.optim.SGD(model.parameters(), lr=0.01)
loader = poptorch.DataLoader(options, digits, batch_size=16, drop_last=True)
dataset = digits
