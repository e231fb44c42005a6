import torch
import numpyro
