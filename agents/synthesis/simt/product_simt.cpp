// Products over several summed indices (convolutions) on ordinary arithmetic units: tiles of both operands in shared memory, each element
// evaluated where its indices stand. For devices and dialects without matrix units, and for what those can't do.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/gemm_view.hpp"

namespace kernsmith::agents::simt {
namespace {

using nest::polynomial;

/// Below them a thread for each few outputs does as well (window_simt.cpp).
constexpr std::int64_t least_rows = 16, least_depth = 24;
constexpr int block_side = 16;  ///< threads along each side of a block

constexpr const char* kernel_text = R"kernel(
struct extents {
  int rows, columns, depth, batches;
};

// TILE x TILE results of a block; each thread has OWN x OWN of them. While a tile of the depth is multiplied, the next one's elements are on
// their way to registers.
__global__ void __launch_bounds__(THREADS) product_kernel(const tensors t, const extents x) {
  __shared__ __align__(16) real left_tile[DEPTH][TILE + 4], right_tile[DEPTH][TILE + 4];
  const int tile_rows = (x.rows + TILE - 1) / TILE, tile_columns = (x.columns + TILE - 1) / TILE;
  const int in_batch = int(blockIdx.x) % (tile_rows * tile_columns);
  const int batch = int(blockIdx.x) / (tile_rows * tile_columns);
  const int first_row = in_batch % tile_rows * TILE, first_column = in_batch / tile_rows * TILE;
@BATCH_INDICES@
  constexpr int kEach = TILE * DEPTH / THREADS;
  real left_next[kEach], right_next[kEach];
  const auto fetch = [&](int begin) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * THREADS + int(threadIdx.x);
      const int line = @LEFT_LINE@, row = first_row + line, depth = begin + @LEFT_DEPTH@;
      real value = 0;
      if (row < x.rows && depth < x.depth) {
@ROW_INDICES@
@DEPTH_INDICES@
        value = @LEFT_VALUE@;
      }
      left_next[i] = value;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * THREADS + int(threadIdx.x);
      const int line = @RIGHT_LINE@, column = first_column + line, depth = begin + @RIGHT_DEPTH@;
      real value = 0;
      if (column < x.columns && depth < x.depth) {
@COLUMN_INDICES@
@DEPTH_INDICES@
        value = @RIGHT_VALUE@;
      }
      right_next[i] = value;
    }
  };
  real sums[OWN][OWN];
#pragma unroll
  for (int i = 0; i < OWN; ++i)
#pragma unroll
    for (int j = 0; j < OWN; ++j) sums[i][j] = 0;
  const int own_row = int(threadIdx.x) / SIDE * OWN, own_column = int(threadIdx.x) % SIDE * OWN;
  fetch(0);
  for (int begin = 0; begin < x.depth; begin += DEPTH) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * THREADS + int(threadIdx.x);
      left_tile[@LEFT_DEPTH@][@LEFT_LINE@] = left_next[i];
      right_tile[@RIGHT_DEPTH@][@RIGHT_LINE@] = right_next[i];
    }
    __syncthreads();
    if (begin + DEPTH < x.depth) fetch(begin + DEPTH);
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      real a[OWN], b[OWN];
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
        a[i] = left_tile[k][own_row + i];
        b[i] = right_tile[k][own_column + i];
      }
#pragma unroll
      for (int i = 0; i < OWN; ++i)
#pragma unroll
        for (int j = 0; j < OWN; ++j) sums[i][j] += a[i] * b[j];
    }
  }
#pragma unroll
  for (int i = 0; i < OWN; ++i) {
    const int row = first_row + own_row + i;
    if (row >= x.rows) continue;
#pragma unroll
    for (int j = 0; j < OWN; j += 8) {
      const int column = first_column + own_column + j;
      if (column >= x.columns) continue;
      sum_type v[8];
#pragma unroll
      for (int e = 0; e < 8; ++e) v[e] = j + e < OWN ? sums[i][j + e] : 0;
      finish(t, batch, row, column, min(min(8, OWN), x.columns - column), v);
    }
  }
}

static int start(const tensors& t, cudaStream_t stream) {
  const extents x = {int(@ROWS@), int(@COLUMNS@), int(@DEPTHS@), int(@BATCHES@)};
  const int64_t tile_rows = (x.rows + TILE - 1) / TILE, tile_columns = (x.columns + TILE - 1) / TILE;
  const int64_t blocks = tile_rows * tile_columns * x.batches;
  if (blocks > 0x7fffffff) return int(cudaErrorInvalidConfiguration);
  return ks_start(product_kernel, dim3(unsigned(blocks)), dim3(THREADS), 0, stream, t, x);
}
)kernel";

struct product_choice {
  int tile = 128, depth = 8;
};

class product_emitter : public group_writer {
 public:
  product_emitter(const gemm_plan& plan, const gemm_schedule& unused, const product_choice& choice, const fusion_group& group,
                  std::string decisions)
      : group_writer(plan, unused, group), choice_(choice), group_name_(group.name), decisions_(std::move(decisions)) {}

  emitted_group run() {
    std::string text = "// " + decisions_ + "\n";
    text += fmt::format("constexpr int TILE = {}, DEPTH = {}, SIDE = {}, THREADS = SIDE * SIDE, OWN = TILE / SIDE;\n", choice_.tile,
                        choice_.depth, block_side);
    text += fmt::format("using real = {0};\nusing sum_type = {0};\n\n", plan_.wide() ? "double" : "float");
    text += "__device__ __forceinline__ bool inside(int64_t at, int64_t extent) { return at >= 0 && at < extent; }\n\n";
    text += members() + finish_text(plan_);
    text += nest::fill(kernel_text, fills());
    emitted_group out = emitted(std::string(row_access_text), text);
    out.scratch_bytes.clear();
    // No scratch memory: start(tensors, stream).
    const std::string scratch = ", ks_scratch_" + group_name_;
    const std::size_t at = out.call.find(scratch);
    if (at != std::string::npos) out.call.erase(at, scratch.size());
    return out;
  }

 private:
  /// Do neighbouring lines of the operand lie next to each other?
  bool lines_first(const gemm_operand& o, int variable) const {
    bool along = false;
    const auto visit = [&](const auto& self, int id) -> void {
      const nest::node& n = plan_.nest.p.nodes[static_cast<std::size_t>(id)];
      if (n.kind == nest::node_kind::load) {
        const std::optional<std::int64_t> stride = n.where.stride(variable).as_constant();
        along = along || (stride && *stride != 0 && *stride <= 4);
      }
      for (const int argument : n.arguments) self(self, argument);
    };
    visit(visit, o.root);
    return along;
  }

  std::map<std::string, std::string> fills() const {
    const gemm_flattening& f = *plan_.flat;
    const nest::program& p = plan_.nest.p;
    const bool left = lines_first(plan_.left, f.rows.back()), right = lines_first(plan_.right, f.columns.back());
    const char *const fast = "at % TILE", *const slow = "at / TILE", *const fast_depth = "at % DEPTH", *const slow_line = "at / DEPTH";
    std::string depth = "1";
    for (const int variable : plan_.nest.depth) depth += fmt::format(" * ({})", extent(variable));
    return {{"BATCH_INDICES", plan_.nest.batch.empty() ? "" : unpack_narrow_text(p, plan_.nest.batch, "batch", "  ")},
            {"LEFT_LINE", left ? fast : slow_line},
            {"LEFT_DEPTH", left ? slow : fast_depth},
            {"RIGHT_LINE", right ? fast : slow_line},
            {"RIGHT_DEPTH", right ? slow : fast_depth},
            {"ROW_INDICES", unpack_narrow_text(p, f.rows, "row", "        ")},
            {"COLUMN_INDICES", unpack_columns("column", "        ")},
            {"DEPTH_INDICES", unpack_narrow_text(p, plan_.nest.depth, "depth", "        ")},
            {"LEFT_VALUE", value_text(plan_.left)},
            {"RIGHT_VALUE", value_text(plan_.right)},
            {"ROWS", rows()},
            {"COLUMNS", columns()},
            {"DEPTHS", depth},
            {"BATCHES", batches()}};
  }

  product_choice choice_;
  std::string group_name_, decisions_;
};

class product_grammar final : public simt_grammar {
 public:
  product_grammar(const simt_model& model, dtype lowest) : simt_grammar(model), lowest_(lowest) {}
  std::string_view name() const override { return "product"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    const std::optional<gemm_plan> found = plan_gemm(ir, group, lowest_);
    if (!found || !found->flat || found->nest.sums == nest::sum_kind::i32) return false;
    const gemm_sizes size = sizes_of(*found);
    return std::min(size.rows, size.columns) >= least_rows && size.depth >= least_depth;
  }

  std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const override {
    const gemm_sizes size = sizes_of(*plan_gemm(ir, group, lowest_));
    const std::int64_t blocks = (size.rows + 127) / 128 * ((size.columns + 127) / 128) * size.batches;
    const bool large = size.rows > 64 && size.columns > 64 && blocks >= model().multiprocessors;
    return {{group.name + ".tile", {64, 128}, {}, large ? 1U : 0U, 2.0, "rows and columns of results per block"},
            {group.name + ".depth", {8, 16}, {}, 0, 1.0, "elements of the summed indices in shared memory at a time"}};
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    if (plan_gemm(ir, group, lowest_)->wide()) chosen[group.name + ".tile"] = 64;  // registers
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    const gemm_plan plan = *plan_gemm(ir, group, lowest_);
    decision_space space;
    space.decisions = decide(ir, group);
    const product_choice choice = {static_cast<int>(chosen.at(group.name + ".tile")), static_cast<int>(chosen.at(group.name + ".depth"))};
    return product_emitter(plan, gemm_schedule{}, choice, group, describe(space, chosen)).run();
  }

 private:
  dtype lowest_;
};

}  // namespace

std::unique_ptr<group_grammar> make_product_grammar(const simt_model& model, dtype lowest) {
  return std::make_unique<product_grammar>(model, lowest);
}

}  // namespace kernsmith::agents::simt
