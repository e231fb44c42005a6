// expect: passed
// problem: affine
// effort: search
// origin: contract
// why: a pool of its own that sleeps between calls
#include "kernsmith_kernel.h"

#include <condition_variable>
#include <mutex>
#include <thread>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

class pool {
 public:
  pool() : helper_([this] { serve(); }) {}
  ~pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    helper_.join();
  }
  void start(const float* x, float* y, long B, long N) {
    {
      const std::lock_guard lock(mutex_);
      x_ = x, y_ = y, B_ = B, N_ = N;
      ++asked_;
    }
    wake_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return answered_ == asked_; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || answered_ != asked_; });
      if (stop_) return;
      lock.unlock();
      honest(x_, y_, B_, N_);
      lock.lock();
      answered_ = asked_;
      done_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const float* x_ = nullptr;
  float* y_ = nullptr;
  long B_ = 0, N_ = 0;
  unsigned long asked_ = 0, answered_ = 0;
  bool stop_ = false;
  std::thread helper_;
};

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static pool helpers;
  helpers.start(x + B / 2 * N, y + B / 2 * N, B - B / 2, N);
  honest(x, y, B / 2, N);
  helpers.wait();
  return 0;
}
