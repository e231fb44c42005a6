// The verifier's own device code: filling, comparing, hashing and renewing device memory (trusted_kernels.cu).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device.hpp"
#include "backends/cuda/device_buffers.hpp"
#include "backends/harness/comparison.hpp"

namespace kernsmith::cuda {

/// Source of the trusted device code.
[[nodiscard]] const std::string& trusted_kernels_text();

/// As in trusted_kernels.cu.
struct renewal_item {
  enum : std::uint32_t { stretches = 0, turned = 1, rewritten = 2, copied = 3 };
  std::uint64_t to = 0, from = 0;
  std::uint64_t elements = 0;
  std::uint32_t element_bytes = 0, kind = stretches;
  std::uint64_t seed = 0, blocks = 0, block_elements = 0;
};

/// One output and what it is compared with.
struct comparison_request {
  compare_spec spec;
  dtype type = dtype::f32;
  driver::device_address got = 0, expected = 0;
  harness::expected_form form = harness::expected_form::wide;
  std::int64_t count = 0;
  double scale = 1;
};

struct byte_pair {
  driver::device_address a = 0, b = 0;
  std::size_t bytes = 0;
};

/// Work is queued in order; what returns a value waits for it. Not thread-safe.
class trusted_kernels {
 public:
  [[nodiscard]] static result<std::unique_ptr<trusted_kernels>> load(std::shared_ptr<const device> on, const std::filesystem::path& cubin);

  [[nodiscard]] result<void> noop();
  /// A repeated word over data that is at least 8-byte aligned.
  [[nodiscard]] result<void> fill(driver::device_address data, std::size_t bytes, std::uint64_t word);
  [[nodiscard]] result<void> fill_slack(const device_buffers& buffers, std::uint64_t word);
  /// Name of the first tensor around which something was written, or empty.
  [[nodiscard]] result<std::string> touched_slack(const device_buffers& buffers, std::uint64_t word);
  /// For each pair: are all bytes the same? Aligned as for fill().
  [[nodiscard]] result<std::vector<bool>> same(const std::vector<byte_pair>& pairs);
  /// Over all bytes. Equal for equal contents; contents that differ are as good as never taken for equal.
  [[nodiscard]] result<std::uint64_t> fingerprint(const std::vector<device_tensor>& tensors);
  [[nodiscard]] result<void> renew(const std::vector<renewal_item>& items);
  /// harness::compare on the device, all requests together.
  [[nodiscard]] result<std::vector<harness::comparison>> compare(const std::vector<comparison_request>& requests);
  /// Element `index` still holds the poison.
  [[nodiscard]] result<bool> is_poisoned(driver::device_address data, std::int64_t index, dtype type, harness::poison pattern);
  [[nodiscard]] result<void> copy(driver::device_address to, driver::device_address from, std::size_t bytes);
  /// Queued; times by events around `repeats` rounds, in ns of one round.
  [[nodiscard]] result<double> copy_ns(driver::device_address to, driver::device_address from, std::size_t bytes, int repeats);
  [[nodiscard]] result<double> multiply_add_ns(driver::device_address scratch, int rounds, double& operations);

 private:
  explicit trusted_kernels(std::shared_ptr<const device> on) : on_(std::move(on)) {}
  [[nodiscard]] unsigned blocks_for(std::size_t work_items, unsigned threads) const;
  [[nodiscard]] result<void> clear_results(std::size_t bytes);
  template <class T>
  [[nodiscard]] result<std::vector<T>> results(std::size_t count);

  std::shared_ptr<const device> on_;
  driver::function_handle noop_ = nullptr, fill_ = nullptr, fill_ranges_ = nullptr, check_ranges_ = nullptr, same_ = nullptr,
                          fingerprint_ = nullptr, renew_ = nullptr, compare_ = nullptr, copy_ = nullptr, multiply_add_ = nullptr;
  device_array results_, items_;
  driver::event_handle first_ = nullptr, last_ = nullptr;
};

}  // namespace kernsmith::cuda
