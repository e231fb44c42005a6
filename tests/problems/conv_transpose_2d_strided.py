"""Transposed convolution of images by uneven strides, with output padding."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 40
OUTPUTS = 24
HEIGHT = 26
WIDTH = 30
WINDOW = (3, 4)


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inputs, outputs, window, stride=(2, 3), padding=(1, 0), output_padding=(1, 0))

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
