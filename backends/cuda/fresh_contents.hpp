// Contents that no kernel can have seen, made on the device: an unpredictable part of the inputs is rewritten before each timed call, or
// all of it. As on CPUs (backends/cpp/fresh_contents.hpp), the same for every set of the same axes and seed.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/device_buffers.hpp"
#include "backends/cuda/trusted_kernels.hpp"
#include "backends/harness/kept_answers.hpp"
#include "config/problem.hpp"

namespace kernsmith::cuda {

/// Made for one pair of batches; applied to both legs' sets, so that they hold the same.
class fresh_contents {
 public:
  /// `count` sets' worth of contents under `axes`. Small tensors are drawn anew on the host and copied once.
  [[nodiscard]] static result<fresh_contents> draw(const std::shared_ptr<const device>& on, const problem& p,
                                                   const std::vector<std::int64_t>& axes, std::size_t count, std::uint64_t seed);
  /// Changes set number i of `sets` as drawn; `pristine` holds the workload's own contents.
  [[nodiscard]] result<void> apply(trusted_kernels& trusted, const device_buffers& pristine, const std::vector<device_buffers*>& sets,
                                   harness::renewal kind) const;

 private:
  const problem* p_ = nullptr;
  std::uint64_t seed_ = 0;
  std::size_t set_bytes_ = 0;
  std::vector<std::int64_t> offsets_;  ///< per input: where its contents begin in a set's share of `small_`; -1: not drawn
  device_array small_;
};

}  // namespace kernsmith::cuda
