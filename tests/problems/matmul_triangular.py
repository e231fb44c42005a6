"""The lower triangle of one matrix times a dense one."""
import torch
import torch.nn as nn

SIZE = 480
COLUMNS = 400


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(torch.tril(a), b)


def get_inputs():
    return [torch.randn(SIZE, SIZE), torch.randn(SIZE, COLUMNS)]


def get_init_inputs():
    return []
