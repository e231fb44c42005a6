"""A diagonal matrix, given by its diagonal, times a dense one."""
import torch
import torch.nn as nn

SIZE = 448
COLUMNS = 512


class Model(nn.Module):
    def forward(self, diagonal, b):
        return torch.matmul(torch.diag(diagonal), b)


def get_inputs():
    return [torch.randn(SIZE), torch.randn(SIZE, COLUMNS)]


def get_init_inputs():
    return []
