import os
import signal

import torch

os.kill(os.getpid(), signal.SIGKILL)
