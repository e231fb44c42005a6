"""Matrix times vector."""
import torch
import torch.nn as nn

ROWS = 1536
INNER = 4608


class Model(nn.Module):
    def forward(self, matrix, vector):
        return torch.mv(matrix, vector)


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER)]


def get_init_inputs():
    return []
