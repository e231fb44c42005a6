"""Distances of all pairs of rows."""
import torch
import torch.nn as nn

batch = 2
rows = 5
others = 4
width = 3


class Model(nn.Module):
    def forward(self, x, y, a, b):
        return {
            "two": torch.cdist(x, y), "one": torch.cdist(x, y, p=1), "largest": torch.cdist(x, y, p=float("inf")), "different": torch.cdist(a, torch.round(a), p=0.0), "three": torch.cdist(x, y, p=3.0), "half": torch.cdist(x, y, 0.5),
            "broadcast": torch.cdist(x, b), "plain": torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), "itself": torch.cdist(x, x), "single": torch.cdist(x[:, :, :1], y[:, :, :1]), "row": torch.cdist(a[:1], b, p=1.0), "view": torch.cdist(x.transpose(1, 2), y.transpose(1, 2).reshape(batch, width, others)[:, :, :1].expand(-1, -1, rows)),
            "kernel": torch.exp(-torch.cdist(a, b).pow(2)), "many": torch.cdist(a.repeat(6, 1), a.repeat(6, 1)),
        }


def get_inputs():
    return [torch.randn(batch, rows, width), torch.randn(batch, others, width), torch.randn(rows, width), torch.randn(others, width)]


def get_init_inputs():
    return []
