"""A transformer block: attention and a feed-forward part, each after a layer normalisation and beside a shortcut."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
LENGTH = 96
FEATURES = 160
HEADS = 5


class Model(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(features)
        self.project = nn.Linear(features, 3 * features)
        self.join = nn.Linear(features, features)
        self.before_mlp = nn.LayerNorm(features)
        self.widen = nn.Linear(features, 4 * features)
        self.narrow = nn.Linear(4 * features, features)
        for norm in (self.before_attention, self.before_mlp):
            nn.init.normal_(norm.weight, mean=1.0, std=0.3)
            nn.init.normal_(norm.bias, std=0.3)

    def attend(self, x):
        batch, length, features = x.shape
        query, key, value = self.project(x).chunk(3, dim=-1)
        query, key, value = (
            part.reshape(batch, length, self.heads, features // self.heads).transpose(1, 2) for part in (query, key, value)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(features // self.heads)
        mixed = torch.softmax(scores, dim=-1) @ value
        return self.join(mixed.transpose(1, 2).reshape(batch, length, features))

    def forward(self, x):
        x = x + self.attend(self.before_attention(x))
        return x + self.narrow(F.gelu(self.widen(self.before_mlp(x))))


def get_inputs():
    return [torch.randn(BATCH, LENGTH, FEATURES)]


def get_init_inputs():
    return [FEATURES, HEADS]
