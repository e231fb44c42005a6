"""Product whose right operand is stored transposed."""
import torch
import torch.nn as nn

ROWS = 384
INNER = 512
COLUMNS = 576


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b.T)


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(COLUMNS, INNER)]


def get_init_inputs():
    return []
