// Device memory that the verifier owns and runners import: tensors of one call, fenced by unmapped addresses or by patterns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpp/kernel_process.hpp"
#include "backends/cuda/device.hpp"
#include "backends/harness/shared_buffer.hpp"
#include "config/problem.hpp"

namespace kernsmith::cuda {

using cpp::output_form;

/// Physical memory mapped between unmapped addresses, here and in every process that imports it.
class device_block final : public harness::mappable_buffer {
 public:
  /// `bytes` of data, 64-byte aligned; it touches the unmapped addresses behind it (as far as alignment lets it) or before it.
  [[nodiscard]] static result<std::shared_ptr<device_block>> create(std::shared_ptr<const device> on, std::size_t bytes,
                                                                    harness::guard_side side);
  ~device_block() override;
  device_block(const device_block&) = delete;
  device_block& operator=(const device_block&) = delete;

  [[nodiscard]] driver::device_address start() const { return start_; }
  [[nodiscard]] driver::device_address data() const { return start_ + data_offset_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] int descriptor() const override { return descriptor_; }
  [[nodiscard]] std::size_t file_bytes() const override { return mapped_bytes_; }
  [[nodiscard]] std::size_t data_offset() const override { return data_offset_; }

 private:
  device_block() = default;
  std::shared_ptr<const device> on_;
  driver::device_address start_ = 0;
  std::size_t bytes_ = 0, mapped_bytes_ = 0, data_offset_ = 0;
  int descriptor_ = -1;
};

struct device_tensor {
  std::shared_ptr<device_block> block;
  driver::device_address address = 0;
  std::size_t bytes = 0;
};

/// As trusted_kernels.cu has it.
struct byte_range {
  std::uint64_t begin = 0, end = 0;
};

/// All tensors of one call under one set of axes. Pinned: runners and bindings refer to it.
struct device_buffers {
  std::vector<std::int64_t> axes;
  std::vector<device_tensor> inputs, outputs;
  harness::buffer_set set;
  std::vector<byte_range> slack;       ///< around the tensors, in order: inputs, outputs; two for each
  std::vector<std::string> neighbour;  ///< the tensor that each range lies beside
  device_array slack_list;             ///< the same on the device

  device_buffers() = default;
  device_buffers(const device_buffers&) = delete;
  device_buffers& operator=(const device_buffers&) = delete;
  [[nodiscard]] std::size_t input_bytes() const;
  [[nodiscard]] std::size_t output_bytes() const;
};

/// Each tensor in a block of its own.
[[nodiscard]] result<std::unique_ptr<device_buffers>> make_device_buffers(const std::shared_ptr<const device>& on, const problem& p,
                                                                          const std::vector<std::int64_t>& axes, harness::guard_side side,
                                                                          output_form form);
/// `count` sets in one block, for timing: a runner imports them all at once. Tensors are 512-byte aligned and stand apart by a pattern.
[[nodiscard]] result<std::vector<std::unique_ptr<device_buffers>>> make_packed_buffers(const std::shared_ptr<const device>& on,
                                                                                       const problem& p,
                                                                                       const std::vector<std::int64_t>& axes,
                                                                                       std::size_t count);

}  // namespace kernsmith::cuda
