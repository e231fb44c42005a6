"""Normalisation layers, in training mode and by running statistics."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 3
channels = 6


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.batch = nn.BatchNorm2d(channels)
        self.batch1 = nn.BatchNorm1d(channels)
        self.plain = nn.BatchNorm2d(channels, affine=False)
        self.frozen = nn.BatchNorm2d(channels).eval()
        self.instance = nn.InstanceNorm2d(channels)
        self.instance_affine = nn.InstanceNorm2d(channels, affine=True)
        self.group = nn.GroupNorm(3, channels)
        self.one_group = nn.GroupNorm(1, channels)
        self.each = nn.GroupNorm(channels, channels)
        self.layer = nn.LayerNorm(7)
        self.layer2 = nn.LayerNorm((4, 7), eps=1e-3)
        self.local = nn.LocalResponseNorm(3)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.weighted = torch.nn.utils.weight_norm(nn.Conv2d(channels, 4, 3))
        self.columns = torch.nn.utils.weight_norm(nn.Linear(channels, 5), dim=1)
        self.overall = torch.nn.utils.weight_norm(nn.Linear(channels, 5), dim=None)
        parametrizations = getattr(torch.nn.utils, "parametrizations", None)
        self.parametrized = parametrizations.weight_norm(nn.Linear(channels, 5)) if hasattr(parametrizations, "weight_norm") else None

    def forward(self, x, rows):
        rms = torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)
        out = {
            "batch": self.batch(x), "batch1": self.batch1(rows), "plain": self.plain(x), "frozen": self.frozen(x), "instance": self.instance(x), "instance_affine": self.instance_affine(x), "group": self.group(x),
            "one_group": self.one_group(x), "each": self.each(x), "group_rows": self.group(rows), "layer": self.layer(x), "layer2": self.layer2(x), "rms": x / rms, "conv_norm": F.relu(self.group(self.conv(x))), "local": self.local(x),
            "norm_conv": self.conv(self.batch(x)), "weight_norm": self.weighted(x), "weight_norm_columns": self.columns(rows), "weight_norm_all": self.overall(rows),
        }
        if self.parametrized is not None:
            out["parametrized"] = self.parametrized(rows)
        return out


def get_inputs():
    return [torch.randn(batch, channels, 4, 7), torch.randn(batch, channels)]


def get_init_inputs():
    return [channels]
