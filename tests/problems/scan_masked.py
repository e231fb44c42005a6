"""Running sum of the elements that a mask lets through."""
import torch
import torch.nn as nn

ROWS = 700
COLUMNS = 1600


class Model(nn.Module):
    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.rand(ROWS, COLUMNS) > 0.4]


def get_init_inputs():
    return []
