import os

import torch

os._exit(0)
