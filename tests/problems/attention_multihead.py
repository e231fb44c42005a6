"""Self-attention with its projections."""
import math

import torch
import torch.nn as nn

BATCH = 3
LENGTH = 160
FEATURES = 192
HEADS = 6


class Model(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(features, 3 * features)
        self.output = nn.Linear(features, features)
        nn.init.normal_(self.project.weight, std=0.15)

    def forward(self, x):
        batch, length, features = x.shape
        parts = self.project(x).view(batch, length, 3, self.heads, features // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(features // self.heads)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, features))


def get_inputs():
    return [torch.randn(BATCH, LENGTH, FEATURES)]


def get_init_inputs():
    return [FEATURES, HEADS]
