"""One step of a long short-term memory, written out: new hidden state and new cell."""
import torch
import torch.nn as nn

BATCH = 256
FEATURES = 256
HIDDEN = 256


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.from_input = nn.Linear(features, 4 * hidden)
        self.from_hidden = nn.Linear(hidden, 4 * hidden)

    def forward(self, x, hidden, cell):
        gates = self.from_input(x) + self.from_hidden(hidden)
        enter, forget, content, leave = torch.chunk(gates, 4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(content)
        return torch.sigmoid(leave) * torch.tanh(cell), cell


def get_inputs():
    return [torch.randn(BATCH, FEATURES), torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)]


def get_init_inputs():
    return [FEATURES, HIDDEN]
