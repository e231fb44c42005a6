"""A tall product whose sizes divide by nothing."""
import torch
import torch.nn as nn

ROWS = 19919
INNER = 61
COLUMNS = 83


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS)]


def get_init_inputs():
    return []
