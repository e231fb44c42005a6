"""A matrix times a number that is an argument of the call."""
import torch
import torch.nn as nn

ROWS = 3000
COLUMNS = 1700


class Model(nn.Module):
    def forward(self, a, factor):
        return a * factor


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), -0.73]


def get_init_inputs():
    return []
