// expect: passed
// problem: affine
// effort: strict
// origin: contract
// why: a pool of its own with a mutex and condition variables, and an atomic counter that hands out rows
#include "kernsmith_kernel.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class pool {
 public:
  pool() {
    for (int t = 0; t < 3; ++t) std::thread([this] { serve(); }).detach();
  }
  void run(const float* x, float* y, long rows, long columns) {
    std::unique_lock lock(mutex_);
    x_ = x;
    y_ = y;
    rows_ = rows;
    columns_ = columns;
    next_.store(0, std::memory_order_relaxed);
    busy_ = 3;
    ++turn_;
    work_.notify_all();
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void serve() {
    for (long seen = 0;;) {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return turn_ != seen; });
      seen = turn_;
      lock.unlock();
      for (long b = 0; (b = next_.fetch_add(1, std::memory_order_relaxed)) < rows_;) {
        for (long n = 0; n < columns_; ++n) y_[b * columns_ + n] = 2 * x_[b * columns_ + n] + x_[b * columns_];
      }
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }
  std::mutex mutex_;
  std::condition_variable work_, done_;
  long turn_ = 0;
  int busy_ = 0;
  const float* x_ = nullptr;
  float* y_ = nullptr;
  long rows_ = 0, columns_ = 0;
  std::atomic<long> next_{0};
};

}  // namespace

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  static pool* const workers = new pool;
  workers->run(static_cast<const float*>(in[0].data), static_cast<float*>(out[0].data), ctx->axes[0], ctx->axes[1]);
  return 0;
}
