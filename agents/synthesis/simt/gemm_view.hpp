// What all parts of an emitted matrix product are called and how large they are; and the parts.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agents/synthesis/simt/gemm_emit.hpp"

namespace kernsmith::agents::simt {

inline constexpr int row_bytes_along = 128;  // a row of the swizzled tile when it lies along rows or columns: 64 elements

[[nodiscard]] std::string lines_of(const std::vector<std::string>& lines, const std::string& indent);

class gemm_view {
 public:
  gemm_view(const gemm_plan& plan, const gemm_schedule& s) : plan_(plan), s_(s), ir_(*plan.nest.p.ir), names_(loop_names(plan.nest.p)) {}

  int planes(const gemm_operand& o) const { return &o == &plan_.left ? s_.left_planes(plan_) : s_.right_planes(plan_); }
  std::string extent(int variable) const { return plan_.nest.extent(variable).text(ir_); }
  int depth() const { return plan_.flat ? plan_.flat->inner.back() : plan_.nest.depth[0]; }
  int inner(const gemm_operand& o) const { return o.along ? o.variable : depth(); }
  int outer(const gemm_operand& o) const { return o.along ? depth() : o.variable; }
  const std::string& name(int variable) const { return names_[static_cast<std::size_t>(variable)]; }
  std::size_t rank(const gemm_operand& o) const { return 2 + o.batch.size() + (planes(o) > 1 ? 1 : 0); }
  bool integers() const { return plan_.element == matrix_element::integer8; }
  const char* element_type(const gemm_operand& o) const {
    if (integers()) return o.is_unsigned ? "uint8_t" : "int8_t";
    if (plan_.wide()) return "double";
    return plan_.element == matrix_element::bf16 ? "ks_bf16" : "ks_f16";
  }
  const char* sum_type() const { return integers() ? "int32_t" : plan_.wide() ? "double" : "float"; }
  const char* element_name(const gemm_operand& o) const {
    if (integers()) return o.is_unsigned ? "u8" : "s8";
    if (plan_.wide()) return "f64";
    return plan_.element == matrix_element::bf16 ? "bf16" : "f16";
  }

  std::string batches() const {
    std::string text;
    for (const int b : plan_.nest.batch) text += fmt::format("{}({})", text.empty() ? "" : " * ", extent(b));
    return text.empty() ? "1" : text;
  }
  std::string elements() const { return fmt::format("({}) * ({}) * {}", rows(), columns(), batches()); }
  /// C++ of the extents that kernels walk.
  std::string rows() const { return plan_.flat ? product(plan_.flat->rows) : extent(plan_.nest.row); }
  std::string columns() const;
  std::string depths() const;
  std::string product(const std::vector<int>& variables) const;
  /// Elements that the contiguous depth of a packed operand is a multiple of: eight are packed at a time.
  int depth_unit() const { return std::max(plan_.row_unit(), 8); }

  /// "left" or "right".
  std::string side(const gemm_operand& o) const { return &o == &plan_.left ? "left" : "right"; }
  /// Is the operand's tile fetched for the whole cluster?
  bool shared(const gemm_operand& o) const { return &o == &plan_.right && s_.cluster > 1; }

 protected:
  const gemm_plan& plan_;
  const gemm_schedule& s_;
  const tensor_ir& ir_;
  std::vector<std::string> names_;
};

/// An operand's way into shared memory and from there into the tensor cores.
class operand_writer : public gemm_view {
 public:
  using gemm_view::gemm_view;

  /// The kernel that copies an operand to where the copy engine can read it.
  std::string pack(const gemm_operand& o) const;
  /// The function that copies one box.
  std::string copy_function(const gemm_operand& o) const;
  /// The lines that fetch one slot's tiles; `position`: C++ of the first row or column.
  std::string fetch(const gemm_operand& o, const std::string& position) const;
  /// The same by a reader of addresses.
  std::string fetch_tiles(const gemm_operand& o) const;
  /// The tile from depth k on (left: of row r) as WGMMA takes it.
  std::string matrix_text(const gemm_operand& o) const;
  /// One element, at the loop variables.
  std::string value_text(const gemm_operand& o) const;

  // Flattened plans (gemm_flat.cpp):
  /// struct operand and what reads the tiles of both.
  std::string gather_readers(const std::string& threads) const;
  /// The reader's construction in a kernel, from tile position `first` and step `begin` on.
  std::string gather_reader(const gemm_operand& o, const std::string& first) const;
  /// Which indices a flattened column has: declarations, `index` being C++ of it.
  std::string unpack_columns(const std::string& index, const std::string& indent) const;

 private:
  std::string gather_reader_struct(const gemm_operand& o, const std::string& threads) const;
  /// Which line and which part of it a thread of the packing kernel takes.
  std::string pack_walk(const gemm_operand& o) const;
  std::string pack_flat(const gemm_operand& o) const;
  std::map<std::string, std::string> pack_fills(const gemm_operand& o, row_text& row, int root) const;
  /// The statement that writes eight packed elements.
  std::string store_packed() const;
};

/// The host's parts that don't depend on how operands are fetched.
class host_writer : public gemm_view {
 public:
  using gemm_view::gemm_view;

  /// struct memory_layout and layout_of(): device memory beside the tensors.
  std::string layout() const;
  /// Packs an operand where needed.
  std::string pack_call(const gemm_operand& o) const;
  /// The first lines of start(): extents, memory, the flag of emulation.
  std::string begin() const;
  /// The kernels after the product: sums of parts, infinities and NaNs.
  std::string after() const;
  /// Flattened plans: what layout_of() says of an operand, and its description for the kernel.
  std::string flat_layout(const gemm_operand& o) const;
  std::string describe_flat(const gemm_operand& o) const;
  /// C++ of the strides in bytes of a packed operand's batch variables, in the order of gemm_operand::batch.
  std::vector<std::string> packed_batch_strides(const gemm_operand& o) const;

 private:
  std::string readable(const gemm_operand& o) const;
  std::string packed_lines(const gemm_operand& o, int variable) const;
};

/// The host's part: memory beside the tensors, descriptions of operands, launches.
[[nodiscard]] std::string gemm_host_text(const gemm_plan& plan, const gemm_schedule& schedule);
/// The same for products of warps.
[[nodiscard]] std::string gemm_mma_host_text(const gemm_plan& plan, const gemm_schedule& schedule);

/// What a group's namespace holds, whichever units multiply.
class group_writer : public operand_writer {
 public:
  group_writer(const gemm_plan& plan, const gemm_schedule& s, const fusion_group& group) : operand_writer(plan, s), group_(group) {}

  /// `body` in its namespace behind the `helpers` of the file, and how it is called.
  emitted_group emitted(const std::string& helpers, const std::string& body) const;
  /// The arguments and tensors of the kernels as structs.
  std::string members() const;
  /// "using real = float; ..."
  std::string number_types() const;
  std::string unsplittable() const;

 private:
  std::vector<std::pair<int, bool>> tensors() const;

  const fusion_group& group_;
};

}  // namespace kernsmith::agents::simt
