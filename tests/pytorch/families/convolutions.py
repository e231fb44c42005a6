"""Convolutions: dimensions, strides, paddings, dilations, groups."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({
            "plain": nn.Conv2d(4, 6, 3), "padded": nn.Conv2d(4, 6, 3, padding=1), "strided": nn.Conv2d(4, 6, 3, stride=2, padding=1), "dilated": nn.Conv2d(4, 6, 3, padding=2, dilation=2),
            "grouped": nn.Conv2d(4, 6, 3, groups=2), "depthwise": nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False), "multiplied": nn.Conv2d(4, 8, 3, padding=1, groups=4),
            "pointwise": nn.Conv2d(4, 6, 1), "uneven": nn.Conv2d(4, 6, (3, 5), stride=(1, 2), padding=(0, 2)), "same": nn.Conv2d(4, 6, 3, padding="same"),
        })
        self.chain = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 6, 1), nn.ReLU())
        self.one = nn.Conv1d(4, 6, 3, padding=1)
        self.one_dilated = nn.Conv1d(4, 6, 3, stride=2, dilation=3)
        self.three = nn.Conv3d(4, 3, 3, padding=1)
        self.three_strided = nn.Conv3d(4, 4, (1, 3, 2), stride=(1, 2, 2), groups=2)

    def forward(self, x, line, cube):
        out = {name: layer(x) for name, layer in self.layers.items()}
        out["twice"] = self.layers["padded"](F.max_pool2d(x, 1))
        out["chain"] = self.chain(x)
        out["one"], out["one_dilated"] = self.one(line), self.one_dilated(line)
        out["three"], out["three_strided"] = self.three(cube), self.three_strided(cube)
        out["unbatched"] = self.layers["padded"](x[0])
        grouped = self.layers["multiplied"](x)
        out["shuffled"] = grouped.view(batch, 4, 2, 7, 6).transpose(1, 2).reshape(batch, 8, 7, 6)
        out["weights"] = F.conv2d(x, self.layers["plain"].weight * 0.5, None, 2)
        return out


def get_inputs():
    return [torch.randn(batch, 4, 7, 6), torch.randn(batch, 4, 11), torch.randn(batch, 4, 4, 5, 6)]


def get_init_inputs():
    return []
