"""Attention by hand, by function and by module; masks made in __init__."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
length = 5
width = 8
heads = 2


class Model(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))
        self.module = nn.MultiheadAttention(width, heads, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(width, heads, 16, dropout=0.0, batch_first=True)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        causal = F.softmax(scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
        y = (causal @ v).transpose(1, 2).contiguous().view(b, t, c)
        out = {"causal": self.out(y), "relu_attention": (F.relu(scores) @ v).transpose(1, 2).reshape(b, t, c), "module": self.module(x, x, x, need_weights=False)[0], "layer": self.layer(x)}
        if hasattr(F, "scaled_dot_product_attention"):
            out["sdpa"] = F.scaled_dot_product_attention(q, k, v)
            out["sdpa_causal"] = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out


def get_inputs():
    return [torch.randn(batch, length, width)]


def get_init_inputs():
    return [width, heads, length]
