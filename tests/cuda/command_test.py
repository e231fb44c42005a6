#!/usr/bin/env python3
"""What `kernsmith` says of a CUDA target that can't be used: exit code and words, with a driver that has no device behind it.

    command_test.py KERNSMITH SOURCE_FOLDER FAKE_DRIVER_FOLDER

Ends with 77 where there is a device: the driver there is another.
"""
import fcntl
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

program, source, fake = sys.argv[1:4]
if os.path.exists("/dev/nvidiactl"):
    print("SKIPPED: there is an NVIDIA device here")
    sys.exit(77)

problem = os.path.join(source, "docs/examples/softmax.toml")
kernel = os.path.join(source, "tests/cuda/fixtures/must_pass/plain.cu")
LEASE = "kernsmith-GPU-fafafafa-fafa-fafa-fafa-fafafafafafa.lease"
OFD_SETLK, WRITE_LOCK, FROM_START = 37, 1, 0
failures = 0


def check(what, holds, shown):
    global failures
    print("ok   " if holds else "WRONG", what)
    if not holds:
        failures += 1
        print(shown)


def environment(folder, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FAKE_", "KERNSMITH_", "LD_LIBRARY"))}
    env.update(KERNSMITH_DATA=os.path.join(folder, "data"), KERNSMITH_LEASES=folder, **more)
    return env


def evaluate(folder, **more):
    command = [program, "evaluate", problem, kernel, "--target", "cuda", "--quick"]
    return subprocess.run(command, env=environment(folder, **more), capture_output=True, text=True, timeout=120)


def says(what, ran, code, *words):
    check(what, ran.returncode == code and all(w in ran.stderr for w in words), f"exit {ran.returncode}: {ran.stderr}")


def compiler(folder, name, on_build):
    path = os.path.join(folder, name)
    with open(path, "w") as script:
        script.write(f"""#!/bin/sh
case "$*" in *--version*) echo 'Cuda compilation tools, release 11.0, V11.0.221'; exit 0;; esac
{on_build}
""")
    os.chmod(path, 0o755)
    return path


with tempfile.TemporaryDirectory() as folder:
    says("no driver", evaluate(folder), 3, "the CUDA driver can't be loaded", "target cuda needs an NVIDIA device and its driver")
    says("no device", evaluate(folder, LD_LIBRARY_PATH=fake, FAKE_CUDA_DEVICES="0"), 3, "there is no CUDA device here")
    says("a driver that does not start", evaluate(folder, LD_LIBRARY_PATH=fake, FAKE_CUDA_FAIL="cuInit 100 0"), 3,
         "the CUDA driver does not start here (CUDA_ERROR_NO_DEVICE)")
    says("no compiler", evaluate(folder, LD_LIBRARY_PATH=fake, KERNSMITH_NVCC=os.path.join(folder, "absent")), 3,
         "target cuda needs nvcc", "KERNSMITH_NVCC")
    # Where compilers may be read inside of the sandbox.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(program))) as toolkit:
        os.mkdir(os.path.join(toolkit, "bin"))
        old = compiler(os.path.join(toolkit, "bin"), "nvcc", "echo \"nvcc fatal   : Unsupported gpu architecture 'compute_99a'\"; exit 1")
        says("a toolkit that can't build for the device", evaluate(folder, LD_LIBRARY_PATH=fake, KERNSMITH_NVCC=old), 3,
             "nvcc 11.0.221 can't build for this device", "Unsupported gpu architecture 'compute_99a'", "toolkit that knows the device")
        doctor = subprocess.run([program, "doctor"], env=environment(folder, LD_LIBRARY_PATH=fake, KERNSMITH_NVCC=old), capture_output=True,
                                text=True, timeout=400)  # it tries every compiler and device that there is
        check("doctor names the device", "Fake device, sm_99a" in doctor.stdout + doctor.stderr, doctor.stdout + doctor.stderr)

    # Another process has the device: this one waits, and Ctrl-C ends the wait.
    lease = os.open(os.path.join(folder, LEASE), os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.fcntl(lease, OFD_SETLK, struct.pack("hhqqi4x", WRITE_LOCK, FROM_START, 1, 1, 0))
    waiting = subprocess.Popen([program, "evaluate", problem, kernel, "--target", "cuda"], env=environment(folder, LD_LIBRARY_PATH=fake),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    queue = struct.pack("hhqqi4x", WRITE_LOCK, FROM_START, 0, 1, 0)
    deadline = time.monotonic() + 60
    look = os.open(os.path.join(folder, LEASE), os.O_RDWR)
    waits = False
    while not waits and waiting.poll() is None and time.monotonic() < deadline:
        try:  # the head of the queue is taken by who waits
            fcntl.fcntl(look, OFD_SETLK, queue)
            fcntl.fcntl(look, OFD_SETLK, struct.pack("hhqqi4x", 2, FROM_START, 0, 1, 0))
            time.sleep(0.01)
        except OSError:
            waits = True
    check("a second session waits for the device", waits and waiting.poll() is None, "it did not wait")
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=60)
    check("Ctrl-C ends the wait", waiting.returncode == 4 and "waiting for GPU-fafafafa" in said, f"exit {waiting.returncode}: {said}")

sys.exit(1 if failures else 0)
