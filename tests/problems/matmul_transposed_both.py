"""Product of two operands that are both stored transposed."""
import torch
import torch.nn as nn

ROWS = 320
INNER = 768
COLUMNS = 480


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.t(), b.t())


def get_inputs():
    return [torch.randn(INNER, ROWS), torch.randn(COLUMNS, INNER)]


def get_init_inputs():
    return []
