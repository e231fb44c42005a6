"""Pooling of every form."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2


class Model(nn.Module):
    def forward(self, x, line, cube):
        return {
            "max": F.max_pool2d(x, 2), "max_padded": F.max_pool2d(x, 3, stride=2, padding=1), "max_dilated": F.max_pool2d(x, 2, stride=1, dilation=2), "max_ceil": F.max_pool2d(x, 2, ceil_mode=True),
            "avg": F.avg_pool2d(x, 2), "avg_padded": F.avg_pool2d(x, 3, 2, 1), "avg_inside": F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), "avg_ceil": F.avg_pool2d(x, 2, ceil_mode=True),
            "divisor": F.avg_pool2d(x, 2, divisor_override=3), "max1": F.max_pool1d(line, 3, 1, 1), "avg1": F.avg_pool1d(line, 4, 2, 1), "max3": F.max_pool3d(cube, 2), "avg3": F.avg_pool3d(cube, 2, 1),
            "global": F.adaptive_avg_pool2d(x, 1), "global_max": F.adaptive_max_pool2d(x, 1), "adaptive": F.adaptive_avg_pool2d(x[:, :, :6, :6], (3, 2)), "adaptive_max": F.adaptive_max_pool2d(x[:, :, :6, :6], 3),
            "global3": nn.AdaptiveAvgPool3d((1, 1, 1))(cube), "chain": F.max_pool2d(F.avg_pool2d(x, 2, 1), 2), "nearest": F.interpolate(x, scale_factor=2), "shuffle": F.pixel_shuffle(x, 2),
            "unshuffle": F.pixel_unshuffle(x[:, :, :6, :6], 2),
        }


def get_inputs():
    return [torch.randn(batch, 4, 7, 7), torch.randn(batch, 3, 9), torch.randn(batch, 2, 4, 5, 6)]


def get_init_inputs():
    return []
