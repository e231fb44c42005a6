// Source text of one matrix product whose units are single warps (mma.sync).
#include <fmt/format.h>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/gemm_view.hpp"

namespace kernsmith::agents::simt {
namespace {

using fills = std::map<std::string, std::string>;

// The swizzles: of 8 lines, each 8 x 16 bytes wide at least, ldmatrix reads the same piece. For f64 four lanes read neighbouring pieces of
// one line while four others read another line (see gemm_mma_fragments64_text).
constexpr const char* swizzle64_text = "  return line * kLineBytes + (piece ^ ((line >> 1 & 1) | (line & 4))) * 16;";

constexpr const char* load_lines_text =
    R"(  for (int l = 0; l < 4; ++l) ks_load_pair(v[l][0], v[l][1], tile + place_in<ROW_BYTES>(line + lane / 4 * 4 + l, k / 2 + lane % 4));)";
constexpr const char* load_lines_along_text = R"(  for (int e = 0; e < 2; ++e) {
#pragma unroll
    for (int l = 0; l < 4; l += 2)
      ks_load_pair(v[l][e], v[l + 1][e], tile + place_in<@TILE@ * ELEMENT_BYTES>(k + lane % 4 * 2 + e, (line + l) / 2 + lane / 4 * 2));
  })";

constexpr const char* promote_text = R"(    if (++taken == PROMOTE || step + 1 == last) {
      taken = 0;
#pragma unroll
      for (int i = 0; i < WARP_M / 16; ++i)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            sums[i][j][e] += acc[i][j][e];
            acc[i][j][e] = 0;
          }
    })";
constexpr const char* promoted_text =
    "  // The tensor cores round their sums towards zero: they add up PROMOTE tiles of the depth only, the rest is rounded to nearest.\n"
    "  int taken = 0;";

class mma_emitter : public group_writer {
 public:
  mma_emitter(const gemm_plan& plan, const gemm_schedule& s, const fusion_group& group, std::string decisions)
      : group_writer(plan, s, group), decisions_(std::move(decisions)) {}

  emitted_group run() {
    std::string text =
        "// " + decisions_ + "\n" + constants() + number_types() + members() + nest::fill(gemm_order_text, {{"TILE_ROWS", ""}});
    text += multiply();
    text += finish_text(plan_) + pack(plan_.left) + pack(plan_.right);
    text +=
        nest::fill(gemm_mma_places_text, {{"SWIZZLE", plan_.wide() ? std::string(swizzle64_text) : std::string(gemm_mma_swizzle_text)}});
    text += plan_.flat ? gather_readers("THREADS") : std::string(gemm_mma_tiles_text);
    text += fragments();
    text += nest::fill(gemm_mma_kernel_text, kernel_fills());
    if (s_.splits > 1) text += gemm_splits_text;
    if (plan_.emulated()) text += unsplittable();
    text += gemm_mma_host_text(plan_, s_);
    return emitted(std::string(shared_address_text) + std::string(async_copies_text) + std::string(mma_helpers_text) + instruction() +
                       "\n" + std::string(row_access_text),
                   text);
  }

 private:
  int step_k() const { return s_.step_k(plan_); }
  /// Does a warp go through a slot twice, for the small products of planes and for the large one?
  bool twice() const { return s_.products(plan_).size() > 1; }

  std::string constants() const {
    std::string text;
    text += fmt::format("constexpr int TILE_M = {}, TILE_N = {}, TILE_K = {};  // of one block\n", s_.tile_m, s_.tile_n, s_.tile_k);
    text += fmt::format("constexpr int WARP_M = {}, WARP_N = {};  // of that, of one warp\n", s_.warp_m, s_.warp_n);
    text += fmt::format("constexpr int STEP_K = {};  // of the depth that a warp holds in registers at a time\n", step_k());
    text += fmt::format("constexpr int STAGES = {};  // slots of the ring in shared memory\n", s_.stages);
    text += fmt::format("constexpr int BAND = {};  // tile rows walked together\n", s_.band);
    text += fmt::format("constexpr int SPLITS = {};  // parts of the depth\n", s_.splits);
    if (s_.promote > 0)
      text += fmt::format("constexpr int PROMOTE = {};  // slots that the tensor cores sum up on their own\n", s_.promote);
    text += fmt::format("constexpr int LEFT_PLANES = {}, RIGHT_PLANES = {};\n", s_.left_planes(plan_), s_.right_planes(plan_));
    text += "constexpr int THREADS = TILE_M / WARP_M * (TILE_N / WARP_N) * 32;\n";
    text += fmt::format("constexpr int PHASES = TILE_K / STEP_K{};\n", twice() ? " * 2" : "");
    text += "static_assert(PHASES % 2 == 0, \"registers change with every phase\");\n";
    text += fmt::format("constexpr int ELEMENT_BYTES = {}, ROW_BYTES = TILE_K * ELEMENT_BYTES;\n", plan_.element_bytes());
    text += "constexpr int LEFT_BYTES = TILE_M * ROW_BYTES, RIGHT_BYTES = TILE_N * ROW_BYTES;\n";
    text += "constexpr int SLOT_BYTES = LEFT_PLANES * LEFT_BYTES + RIGHT_PLANES * RIGHT_BYTES;\n";
    return text + "constexpr int SHARED_BYTES = STAGES * SLOT_BYTES;\n\n";
  }

  /// "bf16_bf16"; "16x8x4_f64".
  std::string instruction_name() const {
    if (plan_.wide()) return fmt::format("{}x8x{}_f64", s_.instruction / 100, s_.instruction % 100);
    return fmt::format("{}_{}", element_name(plan_.left), element_name(plan_.right));
  }

  /// The function of one instruction, once per file: ks_mma_<name>(sums, left, right).
  std::string instruction() const {
    const int rows = plan_.wide() ? s_.instruction / 100 : 16, depth = plan_.wide() ? s_.instruction % 100 : 32 / plan_.element_bytes();
    const int sums = rows / 4, lefts = plan_.wide() ? rows * depth / 32 : 4, rights = plan_.wide() ? depth / 4 : 2;
    const char* const sum_letter = plan_.wide() ? "d" : integers() ? "r" : "f";
    const char* const letter = plan_.wide() ? "d" : "r";
    const char* const sum_name = plan_.wide() ? "f64" : integers() ? "s32" : "f32";
    const auto numbers = [](int first, int count) {
      std::string names;
      for (int i = 0; i < count; ++i) names += fmt::format("{}%{}", i > 0 ? ", " : "", first + i);
      return names;
    };
    const auto arguments = [](const std::string& letters, const char* array, int count) {
      std::string text;
      for (int i = 0; i < count; ++i) text += fmt::format("{}\"{}\"({}[{}])", i > 0 ? ", " : "", letters, array, i);
      return text;
    };
    const char* const word = plan_.wide() ? "double" : "uint32_t";
    return fmt::format(
        "#ifndef KS_MMA_{0}\n#define KS_MMA_{0}\n"
        "// c += a * b by a warp: {1} x 8 over {2} of the depth; {3}, {4} and {5} registers of each lane.\n"
        "__device__ __forceinline__ void ks_mma_{0}({6}* c, const {7}* a, const {7}* b) {{\n"
        "  asm volatile(\"mma.sync.aligned.m{1}n8k{2}.row.col.{8}.{9}.{10}.{8} {{{11}}}, {{{12}}}, {{{13}}}, {{{11}}};\"\n"
        "               : {14}\n               : {15}, {16});\n}}\n#endif\n",
        instruction_name(), rows, depth, sums, lefts, rights, sum_type(), word, sum_name, element_name(plan_.left),
        element_name(plan_.right), numbers(0, sums), numbers(sums, lefts), numbers(sums + lefts, rights),
        arguments(std::string("+") + sum_letter, "c", sums), arguments(letter, "a", lefts), arguments(letter, "b", rights));
  }

  /// 16 x 8 over STEP_K of the depth.
  std::string multiply() const {
    if (!plan_.wide())
      return fmt::format(
          "\n// c += a * b: 16 x 8 over 32 bytes of the depth.\n"
          "__device__ __forceinline__ void multiply(sum_type (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {{ ks_mma_{}(c, a, "
          "b); "
          "}}\n",
          instruction_name());
    const int rows = s_.instruction / 100, depth = s_.instruction % 100;
    // a holds rows 0 .. 7 at even places, rows 8 .. 15 at odd ones, by fours of the depth.
    std::string calls;
    for (int k = 0; k < step_k(); k += depth)
      for (int row = 0; row < 16; row += rows)
        calls += fmt::format("  ks_mma_{}(c + {}, a + {}, b + {});\n", instruction_name(), row / 4, k / 2 + row / 8, k / 4);
    return "\n// c += a * b: 16 x 8 over STEP_K of the depth.\n"
           "__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[STEP_K / 2], const double (&b)[STEP_K / 4]) {\n" +
           calls + "}\n";
  }

  std::string place(const gemm_operand& o) const {
    const bool left = &o == &plan_.left;
    const std::string tile = left ? "TILE_M" : "TILE_N", line = left ? "row + 16 * i" : "column + 16 * j";
    const char* const piece = integers() ? "16" : "8";
    if (o.along)
      return left ? fmt::format("place_in<{} * ELEMENT_BYTES>(k + lane % 8 + lane / 16 * 8, ({}) / 8 + lane / 8 % 2)", tile, line)
                  : fmt::format("place_in<{} * ELEMENT_BYTES>(k + lane % 16, ({}) / 8 + lane / 16)", tile, line);
    return left ? fmt::format("place_in<ROW_BYTES>({} + lane % 16, k / {} + lane / 16)", line, piece)
                : fmt::format("place_in<ROW_BYTES>({} + lane % 8 + lane / 16 * 8, k / {} + lane / 8 % 2)", line, piece);
  }

  std::string fragments() const {
    if (!plan_.wide())
      return nest::fill(gemm_mma_fragments_text, {{"ALL_COMMENT", twice() ? "; of all planes, or of the first" : ""},
                                                  {"ALL_PARAMETER", twice() ? ", bool all" : ""},
                                                  {"UNLESS_ALL", twice() ? "if (p > 0 && !all) continue;" : ""},
                                                  {"LEFT_ALONG", plan_.left.along ? "true" : "false"},
                                                  {"RIGHT_ALONG", plan_.right.along ? "true" : "false"},
                                                  {"LEFT_PLACE", place(plan_.left)},
                                                  {"RIGHT_PLACE", place(plan_.right)}});
    const auto lines = [](const gemm_operand& o, const char* tile) {
      std::string text = o.along ? nest::fill(load_lines_along_text, {{"TILE", tile}}) : std::string(load_lines_text) + "\n";
      text.pop_back();
      return text;
    };
    return nest::fill(gemm_mma_fragments64_text,
                      {{"LOAD_LEFT", lines(plan_.left, "TILE_M")}, {"LOAD_RIGHT", lines(plan_.right, "TILE_N")}});
  }

  std::string reader(const gemm_operand& o) const {
    const bool left = &o == &plan_.left;
    if (plan_.flat) return gather_reader(o, left ? "first_row" : "first_column");
    const std::string side = this->side(o), tile = left ? "TILE_M" : "TILE_N";
    const std::string first = left ? "first_row" : "first_column", extent = left ? "x.rows" : "x.columns";
    std::string data = fmt::format("static_cast<const char*>({}_operand.data)", side);
    for (std::size_t b = 0; b < o.batch.size(); ++b) data += fmt::format(" + {} * {}_operand.batch[{}]", name(o.batch[b]), side, b);
    const std::string depth = "begin * TILE_K, x.depth", lines = first + ", " + extent;
    return fmt::format("tile_reader<{}, {}, {}> {}_tiles({},\n      {}_operand.line, {}, {});", o.along ? "TILE_K" : tile,
                       o.along ? tile + " * ELEMENT_BYTES" : "ROW_BYTES", o.along ? "true" : "false", side, data, side,
                       o.along ? depth : lines, o.along ? lines : depth);
  }

  /// What is multiplied in a phase. Of planes, all products but the largest in the first half of the phases: what rounding towards zero
  /// takes from sums that are still small is little.
  std::string products() const {
    const std::vector<std::pair<int, int>> all = s_.products(plan_);
    const std::string indent = all.size() > 1 ? "        " : "      ";
    const auto product = [&](int l, int r) {
      return fmt::format(
          "#pragma unroll\n{0}for (int i = 0; i < WARP_M / 16; ++i)\n#pragma unroll\n{0}  for (int j = 0; j < WARP_N / 8; ++j) "
          "multiply(acc[i][j], now.left[{1}][i], now.right[{2}][j]);\n",
          indent, l, r);
    };
    std::string text, all_but_last;
    for (const auto& [l, r] : all) {
      all_but_last = text;
      text += product(l, r);
    }
    const std::string last = text.substr(all_but_last.size());
    if (all.size() > 1) text = "      if (phase < PHASES / 2) {\n" + all_but_last + "      } else {\n" + last + "      }\n";
    text.pop_back();
    return text;
  }

  fills kernel_fills() const {
    const bool promotes = s_.promote > 0;
    const std::string result = promotes ? "sums" : "acc";
    const char* const held64 = "  // Lane 4 g + q holds 8 neighbouring columns, from 8 q on, of rows 4 g .. 4 g + 3 of every 32 x 32.";
    const char* const held = "  // Lane l holds columns 2 * (l % 4), + 1 of every 8, of rows l / 4 and l / 4 + 8 of every 16.";
    return {
        {"PARTIAL_PARAMETER", s_.splits > 1 ? ", sum_type* partial" : ""},
        {"BATCH_COORDINATES", plan_.nest.batch.empty() ? "" : unpack_text(plan_.nest.p, plan_.nest.batch, "at.batch", "  ", "int")},
        {"LEFT_READER", reader(plan_.left)},
        {"RIGHT_READER", reader(plan_.right)},
        {"FETCH_LEFT", fetch_tiles(plan_.left)},
        {"FETCH_RIGHT", fetch_tiles(plan_.right)},
        {"PRODUCTS", products()},
        {"ALL", twice() ? ", phase < PHASES / 2" : ""},
        {"TWICE", twice() ? ", small products of planes first" : ""},
        {"SUMS_DECLARATION", promotes ? ", sums[WARP_M / 16][WARP_N / 8][4]" : ""},
        {"ZERO_SUMS", promotes ? "sums[i][j][e] = " : ""},
        {"TAKEN", promotes ? promoted_text : ""},
        {"PROMOTE", promotes ? promote_text : ""},
        {"HELD", plan_.wide() ? held64 : held},
        {"ROW_OF_LANE", plan_.wide() ? "i / 2 * 32 + lane / 4 * 4 + i % 2 * 2 + half" : "16 * i + lane / 4 + 8 * half"},
        {"VALUE_OF_LANE", result + (plan_.wide() ? "[i][block + e % 4][2 * half + e / 4]" : "[i][block + e / 2][2 * half + e % 2]")},
        {"EXCHANGE", plan_.wide() ? "" : "ks_exchange_quad(v);"},
        {"EMIT", s_.splits > 1
                     ? "ks_write8(partial + ((int64_t(at.split) * x.batches + at.batch) * x.rows + row) * x.columns + column, count, v);"
                     : "finish(t, at.batch, row, column, count, v);"}};
  }

  std::string decisions_;
};

}  // namespace

emitted_group emit_gemm_mma(const gemm_plan& plan, const gemm_schedule& schedule, const fusion_group& group, const std::string& decisions) {
  return mma_emitter(plan, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::simt
