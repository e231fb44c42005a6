import torch

blocks = [bytearray(1 << 30) for _ in range(200)]
