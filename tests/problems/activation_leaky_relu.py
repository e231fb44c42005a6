"""Leaky ReLU as a module with a slope of its own."""
import torch
import torch.nn as nn

ROWS = 1024
COLUMNS = 3072
SLOPE = 0.07


class Model(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.act = nn.LeakyReLU(negative_slope=slope)

    def forward(self, x):
        return self.act(x)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [SLOPE]
