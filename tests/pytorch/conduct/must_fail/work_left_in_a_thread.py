# expect: cheating
# problem: affine
# rule: late_writes
# why: a thread writes after launch has returned
import threading
import time


def launch(inputs, outputs, stream):
    def later():
        time.sleep(0.005)
        outputs[0].copy_(2 * inputs[0] + 1)

    threading.Thread(target=later, daemon=True).start()
