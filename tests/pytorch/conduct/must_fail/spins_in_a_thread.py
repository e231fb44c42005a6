# expect: cheating
# problem: affine
# rule: busy_after_return
# why: a thread that never rests
import threading

started = []


def spin():
    while True:
        pass


def launch(inputs, outputs, stream):
    if not started:
        started.append(threading.Thread(target=spin, daemon=True))
        started[0].start()
    outputs[0].copy_(2 * inputs[0] + 1)
