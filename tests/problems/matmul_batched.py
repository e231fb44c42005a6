"""One product per element of a batch."""
import torch
import torch.nn as nn

BATCH = 20
ROWS = 144
INNER = 96
COLUMNS = 176


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(BATCH, ROWS, INNER), torch.randn(BATCH, INNER, COLUMNS)]


def get_init_inputs():
    return []
