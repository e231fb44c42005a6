// expect: passed
// problem: affine
// effort: search
// origin: contract
// why: threads that live on, spin for a while after each call and then sleep
#include "kernsmith_kernel.h"

#include <sched.h>
#include <atomic>
#include <thread>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

struct helper {
  std::atomic<unsigned> asked{0}, answered{0};
  const float* x = nullptr;
  float* y = nullptr;
  long B = 0, N = 0;

  helper() {
    std::thread([this] { serve(); }).detach();
  }
  [[noreturn]] void serve() {
    for (unsigned served = 0;;) {
      for (int spin = 0; spin < 20000 && asked.load(std::memory_order_acquire) == served; ++spin) __builtin_ia32_pause();
      asked.wait(served, std::memory_order_acquire);
      honest(x, y, B, N);
      answered.store(++served, std::memory_order_release);
    }
  }
};

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static helper second;
  second.x = x + B / 2 * N, second.y = y + B / 2 * N, second.B = B - B / 2, second.N = N;
  const unsigned ticket = second.asked.fetch_add(1, std::memory_order_release) + 1;
  second.asked.notify_one();
  honest(x, y, B / 2, N);
  while (second.answered.load(std::memory_order_acquire) != ticket) sched_yield();
  return 0;
}
