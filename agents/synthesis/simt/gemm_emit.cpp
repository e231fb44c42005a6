#include "agents/synthesis/simt/gemm_emit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/gemm_view.hpp"

namespace kernsmith::agents::simt {
namespace {

using fills = std::map<std::string, std::string>;

constexpr const char* in_turn_begin =
    R"(    const int group_row = 0, turn = role - 1, stride = int(gridDim.x) / CLUSTER;
    int position = 0;        // in the ring, counted through
    int turn_parity = 1 - turn;  // the first turn is there from the start)";
constexpr const char* take_turn =
    R"(      if (item >= stride) {  // the other warpgroup's tile comes before
        const int split = (item - stride) / (tile_rows * tile_columns * x.batches);
        position += max(0, min(steps, (split + 1) * share) - split * share);
      }
      int slot = position % STAGES, parity = position / STAGES & 1;
      ks_barrier_wait(turns + 8 * turn, turn_parity);
      turn_parity ^= 1;)";

class emitter : public group_writer {
 public:
  emitter(const gemm_plan& plan, const gemm_schedule& s, const fusion_group& group, std::string decisions)
      : group_writer(plan, s, group), decisions_(std::move(decisions)) {}

  emitted_group run() {
    std::string text = "// " + decisions_ + "\n" + constants() + members() +
                       nest::fill(gemm_order_text, {{"TILE_ROWS", "; a tile row is CLUSTER tiles high"}});
    if (s_.stream) text += gemm_stream_text;
    text += product_function() + finish_text(plan_);
    // Even a plain operand must be copied when its rows turn out not to be multiples of 16 bytes.
    text += pack(plan_.left) + pack(plan_.right);
    text += copy_function(plan_.left) + copy_function(plan_.right);
    text += nest::fill(gemm_kernel_text, kernel_fills());
    if (s_.splits > 1) text += gemm_splits_text;
    if (plan_.emulated()) text += unsplittable();
    text += gemm_host_text(plan_, s_);
    return emitted(std::string(shared_address_text) + std::string(tensor_core_helpers_text) + "\n" + std::string(row_access_text), text);
  }

 private:
  std::string constants() const {
    const int swizzle = s_.tile_k * plan_.element_bytes();
    std::string text;
    text +=
        fmt::format("constexpr int TILE_M = {}, TILE_N = {}, TILE_K = {};  // of one block at a time\n", s_.tile_m, s_.tile_n, s_.tile_k);
    text += fmt::format("constexpr int STAGES = {};     // slots of the ring in shared memory\n", s_.stages);
    text += fmt::format("constexpr int CONSUMERS = {};  // warpgroups that multiply; one more fetches\n", s_.consumers);
    text += fmt::format("constexpr int CLUSTER = {};    // blocks below each other that share the right operand's tiles\n", s_.cluster);
    text += fmt::format("constexpr int BAND = {};       // tile rows walked together\n", s_.band);
    text += fmt::format("constexpr int SPLITS = {};     // parts of the depth\n", s_.splits);
    if (s_.promote > 0)
      text += fmt::format("constexpr int PROMOTE = {};    // slots that the tensor cores sum up on their own\n", s_.promote);
    text += fmt::format("constexpr int LEFT_PLANES = {}, RIGHT_PLANES = {};\n", s_.left_planes(plan_), s_.right_planes(plan_));
    text +=
        fmt::format("constexpr int THREADS = 128 * (CONSUMERS + 1), PIECES = {};  // of 64 rows, multiplied by one warpgroup at a time\n",
                    s_.in_turn ? "TILE_M / 64" : "TILE_M / CONSUMERS / 64");
    text +=
        fmt::format("constexpr int ELEMENT_BYTES = {}, ROW_BYTES = TILE_K * ELEMENT_BYTES;  // {}, where an operand lies along the depth\n",
                    plan_.element_bytes(), swizzle == 128 ? "the 128-byte swizzle" : "the 64-byte swizzle");
    text += "constexpr int LEFT_BYTES = TILE_M * ROW_BYTES, RIGHT_BYTES = TILE_N * ROW_BYTES;\n";
    text += "constexpr int SLOT_BYTES = LEFT_PLANES * LEFT_BYTES + RIGHT_PLANES * RIGHT_BYTES;\n";
    text += "constexpr int SHARED_BYTES = STAGES * SLOT_BYTES + 1024;\n\n";
    return text + number_types();
  }

  /// The warpgroup's instruction with its accumulators spelled out.
  std::string product_function() const {
    const int registers = s_.tile_n / 2;
    const std::string left = element_name(plan_.left), right = element_name(plan_.right);
    std::string text = fmt::format(
        "\n// acc = a * b + (keep ? acc : 0): 64 x TILE_N over {0} of the depth.\n"
        "__device__ __forceinline__ void multiply(sum_type (&acc)[{1}], uint64_t a, uint64_t b, bool keep) {{\n"
        "  asm volatile(\n"
        "      \"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{2}, 0;\\n\"\n"
        "      \"wgmma.mma_async.sync.aligned.m64n{3}k{0}.{4}.{5}.{6} {{\"\n",
        32 / plan_.element_bytes(), registers, registers + 2, s_.tile_n, integers() ? "s32" : "f32", left, right);
    constexpr int per_line = 16;
    for (int i = 0; i < registers; i += per_line) {
      text += "      \"";
      for (int j = i; j < i + per_line; ++j) text += fmt::format("%{}{}", j, j + 1 < registers ? ", " : "");
      text += "\"\n";
    }
    // Signs of the operands, and whether they lie along rows and columns instead of along the depth.
    const std::string modes = integers() ? "" : fmt::format(", 1, 1, {}, {}", plan_.left.along ? 1 : 0, plan_.right.along ? 1 : 0);
    text += fmt::format("      \"}}, %{}, %{}, keep{};\\n}}\\n\"\n", registers, registers + 1, modes);
    constexpr int operands_per_line = 8;
    for (int i = 0; i < registers; i += operands_per_line) {
      text += i == 0 ? "      : " : "        ";
      for (int j = i; j < i + operands_per_line; ++j)
        text += fmt::format("\"+{}\"(acc[{}]){}", integers() ? "r" : "f", j, j + 1 < registers ? ", " : "");
      text += "\n";
    }
    return text + "      : \"l\"(a), \"l\"(b), \"r\"(int(keep)));\n}\n";
  }

  std::string release(const std::string& slot) const {
    if (s_.cluster == 1) return fmt::format("if (thread == 0) ks_barrier_arrive(empty + 8 * {});", slot);
    return fmt::format("if (thread < CLUSTER) ks_barrier_arrive_at(empty + 8 * {}, thread);", slot);
  }

  std::string sums() const {
    std::vector<std::string> products;
    for (const auto& [l, r] : s_.products(plan_)) {
      const std::string a = l > 0 ? fmt::format("left + {} * LEFT_BYTES", l) : "left";
      const std::string b = r > 0 ? fmt::format("right + {} * RIGHT_BYTES", r) : "right";
      products.push_back(fmt::format("multiply_tile(acc, {}, {}, group_row, {});", a, b, products.empty() ? "keep" : "true"));
    }
    std::string before = release("before");
    before = "if (before >= 0 && " + before.substr(4);
    std::string text(s_.promote > 0 ? gemm_sums_promoted_text : gemm_sums_plain_text);
    for (std::size_t at = text.find("if (before >= 0) @RELEASE_BEFORE@"); at != std::string::npos;
         at = text.find("if (before >= 0) @RELEASE_BEFORE@"))
      text.replace(at, 33, before);
    const std::string clear = s_.splits > 1
                                  ? "      if (begin >= last) {\n#pragma unroll\n        for (int piece = 0; piece < PIECES; ++piece)\n"
                                    "#pragma unroll\n          for (int i = 0; i < TILE_N / 2; ++i) acc[piece][i] = 0.0f;\n      }"
                                  : "";
    std::string filled = nest::fill(
        text,
        {{"PRODUCTS", lines_of(products, "        ")},
         {"RELEASE", release("slot")},
         {"CLEAR", clear},
         {"PASS_TURN",
          s_.in_turn ? "      if (thread == 0) ks_barrier_arrive(turns + 8 * (1 - turn));\n      position += max(0, last - begin);" : ""}});
    while (!filled.empty() && filled.back() == '\n') filled.pop_back();
    return filled.substr(filled.find_first_not_of('\n'));
  }

  std::string producer(const std::string& coordinates) const {
    std::string text =
        nest::fill(gemm_producer_text, {{"FETCHED_ITEMS", items("int(blockIdx.x) / CLUSTER", "int(gridDim.x) / CLUSTER", "        ")},
                                        {"BATCH_COORDINATES", coordinates},
                                        {"FETCH_LEFT", fetch(plan_.left, "row")},
                                        {"FETCH_RIGHT", fetch(plan_.right, "column")}});
    text.pop_back();
    return text.substr(1);
  }

  /// The head of the loop over a block's tiles, or stretches of them.
  std::string items(const std::string& first, const std::string& stride, const std::string& indent) const {
    if (s_.stream)
      return fmt::format(
          "for (walk work; work.next(items, steps);) {{\n"
          "{0}const place at = place_of(work.item, tile_rows, tile_columns, x.batches);\n"
          "{0}const int begin = work.begin, last = work.end;",
          indent);
    return fmt::format(
        "for (int item = {0}; item < items; item += {1}) {{\n"
        "{2}const place at = place_of(item, tile_rows, tile_columns, x.batches);\n"
        "{2}const int begin = at.split * share, last = min(steps, begin + share);",
        first, stride, indent);
  }

  std::string fix_up() const {
    std::string text = nest::fill(gemm_fix_up_text, {{"RESULT", s_.promote > 0 ? "sums" : "acc"}});
    while (text.back() == '\n') text.pop_back();
    return text.substr(1);
  }

  fills kernel_fills() const {
    const bool clustered = s_.cluster > 1;
    const std::string fewer = s_.consumers == 3 ? "32" : "40";
    const std::string more = s_.consumers == 3 ? "160" : "232";
    const auto registers = [&](const char* direction, const std::string& count) {
      return s_.consumers == 1 ? std::string() : fmt::format("asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");", direction, count);
    };
    const std::string coordinates =
        plan_.nest.batch.empty() ? "" : unpack_text(plan_.nest.p, plan_.nest.batch, "at.batch", "        ", "int");
    return {
        {"READERS", s_.in_turn ? "1" : "CONSUMERS"},
        {"BARRIERS", s_.in_turn ? "2 * STAGES + 2" : "2 * STAGES"},
        {"TURNS", s_.in_turn ? ", turns = empty + 8 * STAGES" : ""},
        {"INIT_TURNS", s_.in_turn ? "    for (int turn = 0; turn < 2; ++turn) ks_barrier_init(turns + 8 * turn, 1);" : ""},
        {"HOW", s_.in_turn ? ", each its own tiles, in turn" : ""},
        {"CONSUMER_BEGIN",
         s_.in_turn ? in_turn_begin : "    const int group_row = (role - 1) * (TILE_M / CONSUMERS);\n    int slot = 0, parity = 0;"},
        {"ITEMS", s_.in_turn ? items("int(blockIdx.x) / CLUSTER + turn * stride", "2 * stride", "      ")
                             : items("int(blockIdx.x) / CLUSTER", "int(gridDim.x) / CLUSTER", "      ")},
        {"FIX_UP", s_.stream ? fix_up() : ""},
        {"TAKE_TURN", s_.in_turn ? take_turn : ""},
        {"RIGHT_MATRIX", matrix_text(plan_.right)},
        {"LEFT_MATRIX", matrix_text(plan_.left)},
        {"CLUSTER_ATTRIBUTE", clustered ? "__cluster_dims__(CLUSTER, 1, 1) " : ""},
        {"PARTIAL_PARAMETER", s_.stream       ? ", sum_type* partial, int* flags"
                              : s_.splits > 1 ? ", sum_type* partial"
                                              : ""},
        {"RANK", clustered ? "ks_cluster_rank()" : "0"},
        {"SYNC", clustered ? "ks_cluster_sync();" : "__syncthreads();"},
        {"LEAVE", clustered ? "ks_cluster_sync();  // the others may still write into this block's memory" : ""},
        {"FEWER_REGISTERS", registers("dec", fewer)},
        {"MORE_REGISTERS", registers("inc", more)},
        {"PRODUCER", producer(coordinates)},
        {"SUMS", sums()},
        {"RESULT", s_.promote > 0 ? "sums" : "acc"},
        {"EMIT", s_.splits > 1
                     ? "ks_write8(partial + ((int64_t(at.split) * x.batches + at.batch) * x.rows + row) * x.columns + column, count, v);"
                     : "finish(t, at.batch, row, column, count, v);"}};
  }

  std::string decisions_;
};

}  // namespace

emitted_group emit_gemm(const gemm_plan& plan, const gemm_schedule& schedule, const fusion_group& group, const std::string& decisions) {
  if (schedule.by_warps()) return emit_gemm_mma(plan, schedule, group, decisions);
  return emitter(plan, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::simt
