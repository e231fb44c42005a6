import torch
import urllib.request

text = urllib.request.urlopen("http://127.0.0.1:9/weights", timeout=5).read()
