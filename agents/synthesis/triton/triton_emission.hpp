// What the Triton grammars share when they put kernels and the host functions that start them into the file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agents/synthesis/emission.hpp"
#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/source_assembly.hpp"

namespace kernsmith::agents::triton {

/// Lines of Python.
class python_writer {
 public:
  void line(std::string_view text) {
    if (!text.empty()) text_.append(static_cast<std::size_t>(depth_) * 4, ' ').append(text);
    text_ += '\n';
  }
  /// A line that opens a block, without its colon.
  void open(std::string_view text) {
    line(std::string(text) + ":");
    ++depth_;
  }
  void close() { --depth_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

/// The same IR with a trailing underscore on names that mean something in Python or in emitted files: the IR's own names never end in one.
[[nodiscard]] tensor_ir with_python_names(const tensor_ir& ir);

/// A constant of a kernel: a tl.constexpr parameter, and what the host gives for it.
using kernel_constant = std::pair<std::string, std::string>;

/// `@triton.jit` and the kernel's head: tensors, axes, constants, `index`.
void open_kernel(python_writer& out, const std::string& name, const tensor_ir& ir, const function_parameters& parameters,
                 const std::vector<kernel_constant>& constants);
/// `y_rows[(programs,)](x, y, N, ROWS=4, index=index, num_warps=4, num_stages=2)`.
[[nodiscard]] std::string start_kernel(const std::string& name, const std::string& programs, const std::vector<std::string>& arguments,
                                       const std::vector<kernel_constant>& constants, const std::string& options);
/// `index = ks_index(x.numel(), y.numel(), B * N)`: the type of positions in these tensors and among so many elements.
[[nodiscard]] std::string choose_index(const std::vector<std::string>& tensors, const std::vector<std::string>& counts);

/// The whole file.
[[nodiscard]] std::string assemble_triton_source(const std::string& problem_name, const tensor_ir& ir,
                                                 const std::vector<assembled_group>& groups);
/// An axis that no input's or output's shape tells and that the workloads don't agree about, or -1.
[[nodiscard]] int untold_axis(const tensor_ir& ir);

/// Functions that emitted kernels call, those that `text` does.
[[nodiscard]] std::string triton_prelude_text(const std::string& text);

[[nodiscard]] decision numbers(const std::string& name, std::vector<std::int64_t> values, std::int64_t preferred, double weight,
                               std::string meaning);

}  // namespace kernsmith::agents::triton
