"""Mish: x times tanh of its softplus."""
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 400
COLUMNS = 2000


class Model(nn.Module):
    def forward(self, x):
        return x * torch.tanh(F.softplus(x))


def get_inputs():
    return [2.0 * torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
