// The memory of one run on an external device: every buffer of every call at its place, between guards, as one image that the run command
// loads and writes back. Placing, filling and judging happen here, on the verifier's side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpp/kernel_process.hpp"
#include "backends/cpp/verification.hpp"
#include "backends/harness/comparison.hpp"

namespace kernsmith::external {

/// One call of launch: on what, and what must come out.
struct device_call {
  const cpp::test_case* expected = nullptr;  ///< its pristine inputs are copied; its outputs are what must come out
  harness::poison pattern;                   ///< what outputs hold before the call
};

class call_memory {
 public:
  /// Places all calls in the order given, inputs and outputs of each call in areas of their own, and fills everything. `entropy` chooses
  /// the guards' pattern. bad_request when more than `most_bytes` are needed.
  [[nodiscard]] static result<call_memory> place(const problem& p, const std::vector<device_call>& calls, std::size_t workspace_bytes,
                                                 std::size_t alignment, std::size_t most_bytes, std::uint64_t entropy);
  /// Bytes that one call of these axes takes.
  [[nodiscard]] static std::size_t bytes_of(const problem& p, const std::vector<std::int64_t>& axes, std::size_t alignment);

  [[nodiscard]] std::size_t calls() const { return placed_.size(); }
  /// calls.txt: where everything lies.
  [[nodiscard]] std::string descriptor() const;
  [[nodiscard]] const std::vector<std::byte>& image() const { return image_; }
  /// Takes what a run left; false when it has another size.
  [[nodiscard]] bool take(std::vector<std::byte> image);

  /// Judges the memory that call `number` left: guards, inputs, outputs.
  [[nodiscard]] result<cpp::check_result> judge(const problem& p, std::size_t number, int threads) const;

 private:
  struct placed_tensor {
    std::size_t offset = 0, bytes = 0;
    dtype type = dtype::f32;
    std::vector<std::int64_t> shape;
    std::string name;
  };
  struct area {
    std::size_t begin = 0, end = 0;
  };
  struct placed_call {
    device_call call;
    std::vector<placed_tensor> inputs, outputs;
    area in, out;  ///< each with its guards, aligned
  };
  [[nodiscard]] bool guards_intact(const area& where, const std::vector<placed_tensor>& tensors) const;
  void fill_guards(std::size_t begin, std::size_t end);
  [[nodiscard]] result<cpp::check_result> judge_outputs(const problem& p, const placed_call& placed, int threads) const;

  std::vector<placed_call> placed_;
  std::vector<std::byte> image_;
  std::size_t workspace_begin_ = 0, workspace_bytes_ = 0;
  std::uint64_t guard_ = 0;
};

}  // namespace kernsmith::external
