"""Transposed convolutions: strides, paddings, output paddings, groups."""
import torch
import torch.nn as nn

batch = 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({
            "plain": nn.ConvTranspose2d(3, 4, 3), "padded": nn.ConvTranspose2d(3, 4, 3, padding=1), "strided": nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1),
            "odd": nn.ConvTranspose2d(3, 4, 3, stride=2), "out": nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), "uneven": nn.ConvTranspose2d(3, 4, (3, 5), stride=(2, 3), padding=(1, 2)),
            "grouped": nn.ConvTranspose2d(3, 6, 3, groups=3, bias=False), "dilated": nn.ConvTranspose2d(3, 4, 3, dilation=2), "both": nn.ConvTranspose2d(3, 4, 3, stride=2, dilation=3, padding=1),
            "sparse": nn.ConvTranspose2d(3, 4, 2, stride=3),
        })
        self.one = nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1)
        self.three = nn.ConvTranspose3d(3, 2, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x, line, cube):
        out = {name: layer(x) for name, layer in self.layers.items()}
        out["one"] = torch.relu(self.one(line))
        out["three"] = self.three(cube).mean(dim=(2, 3, 4))
        return out


def get_inputs():
    return [torch.randn(batch, 3, 5, 4), torch.randn(batch, 3, 6), torch.randn(batch, 3, 2, 3, 3)]


def get_init_inputs():
    return []
