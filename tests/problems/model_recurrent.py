"""A plain recurrent network over a few steps; the last hidden state goes through a linear layer."""
import torch
import torch.nn as nn

BATCH = 192
STEPS = 4
FEATURES = 128
HIDDEN = 256
CLASSES = 64


class Model(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.from_input = nn.Linear(features, hidden)
        self.from_hidden = nn.Linear(hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, classes)

    def forward(self, x, hidden):
        for step in range(x.shape[1]):
            hidden = torch.tanh(self.from_input(x[:, step]) + self.from_hidden(hidden))
        return self.output(hidden)


def get_inputs():
    return [torch.randn(BATCH, STEPS, FEATURES), torch.randn(BATCH, HIDDEN)]


def get_init_inputs():
    return [FEATURES, HIDDEN, CLASSES]
