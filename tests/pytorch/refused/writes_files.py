import torch

with open("/usr/share/kernsmith-was-here", "w") as file:
    file.write("x")
