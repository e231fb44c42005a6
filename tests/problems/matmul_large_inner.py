"""A small product over a very long inner dimension."""
import torch
import torch.nn as nn

ROWS = 56
INNER = 49152
COLUMNS = 40


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS)]


def get_init_inputs():
    return []
