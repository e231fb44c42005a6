"""A stack of matrices times one matrix."""
import torch
import torch.nn as nn

BATCH = 6
ROWS = 120
INNER = 512
COLUMNS = 352


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(BATCH, ROWS, INNER), torch.randn(INNER, COLUMNS)]


def get_init_inputs():
    return []
