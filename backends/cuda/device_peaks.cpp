#include "backends/cuda/device_peaks.hpp"

#include <algorithm>

namespace kernsmith::cuda {

namespace {

constexpr std::size_t large_bytes = std::size_t{1} << 30;
constexpr std::size_t cached_share = 8;  // of the second-level cache: both buffers of the copy stay well inside
constexpr int rounds = 3, repeats = 4, cached_repeats = 50, multiply_add_rounds = 4096;

}  // namespace

result<cpp::machine_peaks> measure_device_peaks(const std::shared_ptr<device>& on, trusted_kernels& trusted) {
  auto from = device_array::create(on, large_bytes), to = device_array::create(on, large_bytes);
  if (!from) return tl::unexpected(from.error());
  if (!to) return tl::unexpected(to.error());
  if (auto filled = trusted.fill(from->address(), large_bytes, 0x3f8001233f7ffedcull); !filled) return tl::unexpected(filled.error());
  cpp::machine_peaks peaks;
  const std::size_t cached_bytes = std::clamp<std::size_t>(on->l2_bytes() / cached_share, std::size_t{1} << 20, large_bytes);
  for (int round = 0; round < rounds; ++round) {
    auto copied = trusted.copy_ns(to->address(), from->address(), large_bytes, repeats);
    if (!copied) return tl::unexpected(copied.error());
    auto cached = trusted.copy_ns(to->address(), from->address(), cached_bytes, cached_repeats);
    if (!cached) return tl::unexpected(cached.error());
    double operations = 0;
    auto computed = trusted.multiply_add_ns(to->address(), multiply_add_rounds, operations);
    if (!computed) return tl::unexpected(computed.error());
    peaks.copy_gb_per_s = std::max(peaks.copy_gb_per_s, 2.0 * static_cast<double>(large_bytes) / *copied);
    peaks.cache_gb_per_s = std::max(peaks.cache_gb_per_s, 2.0 * static_cast<double>(cached_bytes) / *cached);
    peaks.gflop_per_s = std::max(peaks.gflop_per_s, operations / *computed);
  }
  return peaks;
}

}  // namespace kernsmith::cuda
