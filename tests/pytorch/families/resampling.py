"""Interpolation, sampling at a grid, pooling windows whose sizes differ, columns of windows."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)

    def forward(self, x, line, cube, grid, theta, grid3, columns):
        warped = F.affine_grid(theta, [batch, 3, 4, 6], align_corners=False)
        return {
            "linear": F.interpolate(line, size=11, mode="linear"), "linear_corners": F.interpolate(line, size=4, mode="linear", align_corners=True), "linear_one": F.interpolate(line, size=1, mode="linear"), "linear_odd": F.interpolate(line, scale_factor=1.7, mode="linear"),
            "linear_recomputed": F.interpolate(line, scale_factor=1.7, mode="linear", recompute_scale_factor=True), "bilinear": F.interpolate(x, scale_factor=2, mode="bilinear"), "bilinear_size": F.interpolate(x, size=(9, 3), mode="bilinear", align_corners=False), "bilinear_corners": F.interpolate(x, size=(9, 13), mode="bilinear", align_corners=True),
            "bilinear_same": F.interpolate(x, size=(5, 12), mode="bilinear"), "bilinear_rows": F.interpolate(x[:, :, :1], size=(3, 14), mode="bilinear"), "module": self.up(x), "two_scales": F.interpolate(x, scale_factor=(0.6, 1.3), mode="bilinear"), "of_view": F.interpolate(x.transpose(2, 3), size=(8, 8), mode="bilinear"),
            "trilinear": F.interpolate(cube, scale_factor=2, mode="trilinear"), "trilinear_corners": F.interpolate(cube, size=(5, 2, 9), mode="trilinear", align_corners=True), "bicubic": F.interpolate(x, size=(8, 15), mode="bicubic"), "bicubic_corners": F.interpolate(x, size=(11, 3), mode="bicubic", align_corners=True),
            "bicubic_scale": F.interpolate(x, scale_factor=1.5, mode="bicubic"), "area": F.interpolate(x, size=(3, 4), mode="area"),
            "grid": F.grid_sample(x, grid, align_corners=False), "grid_corners": F.grid_sample(x, grid, align_corners=True), "grid_border": F.grid_sample(x, grid, padding_mode="border", align_corners=False), "grid_row": F.grid_sample(x[:, :, :1], grid, align_corners=False), "affine": F.grid_sample(x, warped, align_corners=False),
            "affine_grid": F.affine_grid(theta, [batch, 3, 1, 5], align_corners=True), "grid3": F.grid_sample(cube, grid3, align_corners=True), "grid3_border": F.grid_sample(cube, grid3, padding_mode="border", align_corners=False),
            "uneven": F.adaptive_avg_pool2d(x, (3, 4)), "uneven_both": F.adaptive_avg_pool2d(x, (3, 5)), "uneven_one": F.adaptive_avg_pool2d(x, (1, 5)), "wider": F.adaptive_avg_pool2d(x, (8, 12)), "uneven1": F.adaptive_avg_pool1d(line, 4), "uneven3": F.adaptive_avg_pool3d(cube, (2, 3, 3)),
            "uneven_max": F.adaptive_max_pool2d(x, (3, 5)), "uneven_max1": F.adaptive_max_pool1d(line, 4), "unbatched": F.adaptive_avg_pool2d(x[0], (3, 5)),
            "unfold": F.unfold(x, 3), "unfold_padded": F.unfold(x, (3, 2), padding=1, stride=2), "unfold_dilated": F.unfold(x, 2, dilation=2), "unfold_relu": torch.relu(F.unfold(x, (2, 3), stride=(1, 2))), "unfold_row": F.unfold(x[:, :, :1], (3, 3), padding=1), "unfold_one": F.unfold(x[0], (5, 12)),
            "unfold_product": torch.ones(2, 27) @ F.unfold(x, 3, padding=1), "fold": F.fold(columns, (5, 6), (2, 3)), "fold_strided": F.fold(columns, (9, 7), (2, 3), stride=(2, 2), padding=(0, 1)), "fold_dilated": F.fold(columns, (5, 8), (2, 3), dilation=(1, 2), padding=0),
            "fold_apart": F.fold(columns[:, :, :12], (6, 12), (2, 3), stride=(2, 3)), "fold_again": F.fold(F.unfold(x, 3, padding=1), (5, 12), 3, padding=1),
        }


def get_inputs():
    return [
        torch.randn(batch, 3, 5, 12), torch.randn(batch, 3, 7), torch.randn(batch, 2, 3, 4, 5), torch.rand(batch, 4, 3, 2) * 2.4 - 1.2, torch.randn(batch, 2, 3), torch.rand(batch, 2, 3, 4, 3) * 2.4 - 1.2, torch.randn(batch, 12, 16),
    ]


def get_init_inputs():
    return []
