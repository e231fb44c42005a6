// Buffers mapped from the verifier and the sets of tensors made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/harness/kernsmith_kernel.h"
#include "backends/harness/runner/channel.hpp"
#include "backends/harness/runner/memory_space.hpp"

namespace kernsmith::runner {

/// One call's arguments. The tensors point into `extents`, which never moves.
struct tensor_set {
  std::vector<ks_tensor> inputs, outputs;
  std::vector<std::int64_t> extents;  ///< shapes, strides and axes, one after the other
  const std::int64_t* axes = nullptr;
  std::int32_t n_axes = 0;
};
[[nodiscard]] std::size_t bytes_of(const ks_tensor& tensor);

class tensor_store {
 public:
  explicit tensor_store(memory_space& space) : space_(space) {}
  /// Maps the descriptor between guards and closes it. The address of the data; gives up when memory is short.
  std::uint64_t map(const message& request);
  void add(const message& request);
  void drop();
  /// Null for a number that is not known.
  [[nodiscard]] tensor_set* find(std::uint32_t number);

 private:
  struct mapped_buffer {
    std::uint64_t start = 0;
    std::size_t file_bytes = 0;
    std::uint64_t data = 0;
  };
  memory_space& space_;
  std::vector<mapped_buffer> buffers_;
  std::vector<std::unique_ptr<tensor_set>> sets_;
};

}  // namespace kernsmith::runner
