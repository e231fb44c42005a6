"""Product whose left operand is stored transposed."""
import torch
import torch.nn as nn

ROWS = 352
INNER = 640
COLUMNS = 448


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.transpose(0, 1), b)


def get_inputs():
    return [torch.randn(INNER, ROWS), torch.randn(INNER, COLUMNS)]


def get_init_inputs():
    return []
