#include "agents/synthesis/simt/gemm_emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"

namespace kernsmith::agents::simt {
namespace {

using fills = std::map<std::string, std::string>;

constexpr int row_bytes_along = 128;  // a row of the swizzled tile when it lies along rows or columns: 64 elements

std::string lines_of(const std::vector<std::string>& lines, const std::string& indent) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + indent + line;
  return text;
}

class emitter {
 public:
  emitter(const gemm_plan& plan, const gemm_schedule& s, const fusion_group& group, std::string decisions)
      : plan_(plan), s_(s), group_(group), decisions_(std::move(decisions)), ir_(*plan.nest.p.ir), names_(loop_names(plan.nest.p)) {}

  emitted_group run() {
    const std::string space = group_.name + "_gemm";
    std::string text(tensor_core_helpers_text);
    text += "\n" + std::string(row_access_text) + "\nnamespace " + space + " {\n\n";
    text += "// " + decisions_ + "\n" + constants() + members() + std::string(gemm_order_text);
    text += product_function() + finish_text(plan_);
    // Even a plain operand must be copied when its rows turn out not to be multiples of 16 bytes.
    text += pack(plan_.left, "left", s_.left_planes(plan_)) + pack(plan_.right, "right", s_.right_planes(plan_));
    text += copy_function(plan_.left, "left", false) + copy_function(plan_.right, "right", s_.cluster > 1);
    text += nest::fill(gemm_kernel_text, kernel_fills());
    if (s_.splits > 1) text += gemm_splits_text;
    if (plan_.emulated()) text += unsplittable();
    text += layout() + launch() + "\n}  // namespace " + space + "\n";

    emitted_group out;
    out.functions = std::move(text);
    out.call = fmt::format("if (const int ks_failed = {0}::start({{{{{1}}}{2}}}, {3}, ks_stream)) return ks_failed;\n", space, axis_list(),
                           tensor_list(), "ks_scratch_" + group_.name);
    out.scratch_bytes = fmt::format("{}::layout_of({{{}}}).bytes", space, axis_list());
    out.stored = plan_.nest.stored;
    return out;
  }

 private:
  static std::string side_of(const gemm_operand& o, const gemm_plan& plan) { return &o == &plan.left ? "left" : "right"; }

  int planes(const gemm_operand& o) const { return &o == &plan_.left ? s_.left_planes(plan_) : s_.right_planes(plan_); }
  std::string extent(int variable) const { return plan_.nest.extent(variable).text(ir_); }
  int depth() const { return plan_.nest.depth[0]; }
  int inner(const gemm_operand& o) const { return o.along ? o.variable : depth(); }
  int outer(const gemm_operand& o) const { return o.along ? depth() : o.variable; }
  const std::string& name(int variable) const { return names_[static_cast<std::size_t>(variable)]; }
  std::size_t rank(const gemm_operand& o) const { return 2 + o.batch.size() + (planes(o) > 1 ? 1 : 0); }
  bool integers() const { return plan_.element == matrix_element::integer8; }
  const char* element_type(const gemm_operand& o) const {
    if (integers()) return o.is_unsigned ? "uint8_t" : "int8_t";
    return plan_.element == matrix_element::bf16 ? "ks_bf16" : "ks_f16";
  }
  const char* element_name(const gemm_operand& o) const {
    if (integers()) return o.is_unsigned ? "u8" : "s8";
    return plan_.element == matrix_element::bf16 ? "bf16" : "f16";
  }

  std::string axis_list() const {
    std::string text;
    for (const axis& a : ir_.axes) text += (text.empty() ? "" : ", ") + a.name;
    return text.empty() ? "0" : text;
  }

  /// Tensors that the group reads or writes in memory, in the order of their declaration.
  std::vector<std::pair<int, bool>> tensors() const {
    std::set<int> read, written;
    for (const int id : group_.statements)
      for (const expression& e : ir_.statements[static_cast<std::size_t>(id)].nodes)
        if (e.kind == expression_kind::load) read.insert(e.symbol);
    for (const int id : group_.statements) read.erase(ir_.statements[static_cast<std::size_t>(id)].target);
    for (const nest::step& st : plan_.nest.steps)
      if (st.stored) written.insert(st.tensor);
    std::vector<std::pair<int, bool>> all;
    for (int id = 0; id < static_cast<int>(ir_.tensors.size()); ++id)
      if (read.contains(id) || written.contains(id)) all.emplace_back(id, written.contains(id));
    return all;
  }
  std::string tensor_list() const {
    std::string text;
    for (const auto& [id, written] : tensors()) text += ", " + ir_.tensors[static_cast<std::size_t>(id)].name;
    return text;
  }

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
    text += "constexpr int THREADS = 128 * (CONSUMERS + 1), PIECES = TILE_M / CONSUMERS / 64;\n";
    text +=
        fmt::format("constexpr int ELEMENT_BYTES = {}, ROW_BYTES = TILE_K * ELEMENT_BYTES;  // {}, where an operand lies along the depth\n",
                    plan_.element_bytes(), swizzle == 128 ? "the 128-byte swizzle" : "the 64-byte swizzle");
    text += "constexpr int LEFT_BYTES = TILE_M * ROW_BYTES, RIGHT_BYTES = TILE_N * ROW_BYTES;\n";
    text += "constexpr int SLOT_BYTES = LEFT_PLANES * LEFT_BYTES + RIGHT_PLANES * RIGHT_BYTES;\n";
    text += "constexpr int SHARED_BYTES = STAGES * SLOT_BYTES + 1024;\n\n";
    return text + fmt::format("using real = float;\nusing sum_type = {};\n\n", integers() ? "int32_t" : "float");
  }

  std::string members() const {
    std::string text = "struct axis_values {\n  int64_t ";
    for (std::size_t a = 0; a < ir_.axes.size(); ++a) text += (a > 0 ? ", " : "") + ir_.axes[a].name;
    text += ir_.axes.empty() ? "unused;\n};\nstruct tensors : axis_values {\n" : ";\n};\nstruct tensors : axis_values {\n";
    for (const auto& [id, written] : tensors()) {
      const tensor_declaration& tensor = ir_.tensors[static_cast<std::size_t>(id)];
      text += fmt::format("  {}{}* {};\n", written ? "" : "const ", simt_storage_type(tensor.type), tensor.name);
    }
    return text + "};\n";
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

  std::string value_text(const gemm_operand& o) const {
    nest::emission emit;
    emit.p = &plan_.nest.p;
    emit.variable_names = names_;
    return simt_spelling(emit.real(o.root));
  }

  std::string pack(const gemm_operand& o, const std::string& side, int planes) const {
    row_text row(plan_.nest.p, inner(o));
    row.hoist(o.root);
    std::vector<int> lines = o.batch;
    lines.push_back(outer(o));
    std::string shape;
    for (const int variable : lines) shape += extent(variable) + ", ";
    const std::vector<std::string> split_one = {
        fmt::format("const uint32_t bits = {};", integers() ? "uint8_t(x)" : fmt::format("from_float<{}>(x).bits", element_type(o))),
        integers() ? "words[0][e / 4] = e % 4 == 0 ? bits : words[0][e / 4] | bits << (e % 4 * 8);"
                   : "words[0][e / 2] = e % 2 == 0 ? bits : words[0][e / 2] | bits << 16;"};
    const std::vector<std::string> split_many = {
        "if (!(fabsf(x) < 3e38f)) *unusual = 1;",
        "float left_over = x;",
        "#pragma unroll",
        fmt::format("for (int p = 0; p < {}; ++p) {{", planes),
        fmt::format("  const {0} part = from_float<{0}>(left_over);", element_type(o)),
        "  words[p][e / 2] = e % 2 == 0 ? part.bits : words[p][e / 2] | uint32_t(part.bits) << 16;",
        "  left_over -= to_float(part);",
        "}"};
    std::string indices = unpack_text(plan_.nest.p, lines, "rest", "    ");
    const bool flags = plan_.emulated() && planes > 1;
    return nest::fill(
        gemm_pack_text,
        {{"SIDE", side},
         {"PLANE_WORD", planes > 1 ? "plane, " : ""},
         {"PACKED_SHAPE", shape + "stride"},
         {"ELEMENT_NAME", element_name(o)},
         {"VALUE_TYPE", integers() ? "int64_t" : "float"},
         {"WORDS", integers() ? "2" : "4"},
         {"STORE",
          integers()
              ? "reinterpret_cast<uint2*>(packed)[p * total + item] = make_uint2(words[p][0], words[p][1]);"
              : "reinterpret_cast<uint4*>(packed)[p * total + item] = make_uint4(words[p][0], words[p][1], words[p][2], words[p][3]);"},
         {"PLANES_COMMENT", planes > 1 ? fmt::format(" The sum of the {} planes is the value.", planes) : ""},
         {"UNUSUAL_PARAMETER", flags ? ", int* unusual" : ""},
         {"INDICES", indices},
         {"INNER_EXTENT", extent(inner(o))},
         {"INNER", name(inner(o))},
         {"READS", row.reads("first", "count", "    ")},
         {"PLANES", std::to_string(planes)},
         {"VALUE", simt_spelling(integers() ? row.emission().element(o.root) : row.emission().real(o.root))},
         {"SPLIT", lines_of(flags ? split_many : split_one, "      ")}});
  }

  std::string copy_function(const gemm_operand& o, const std::string& side, bool shared) const {
    const std::size_t dimensions = rank(o);
    static constexpr std::string_view coordinate_names[] = {"inner", "outer", "c2", "c3", "c4"};
    std::string parameters, operands, inputs;
    for (std::size_t d = 0; d < dimensions; ++d) {
      parameters += fmt::format(", int {}", coordinate_names[d]);
      operands += fmt::format("{}%{}", d > 0 ? ", " : "", d + 3);
      inputs += fmt::format(", \"r\"({})", coordinate_names[d]);
    }
    const std::string mask = shared ? fmt::format(", %{}", dimensions + 3) : "";
    if (shared) inputs += ", \"h\"(uint16_t((1 << CLUSTER) - 1))";
    return fmt::format(
        "\n// Copies one box{5}.\n"
        "__device__ __forceinline__ void fetch_{0}(uint32_t to, const ks_tensor_map& map, uint32_t barrier{1}) {{\n"
        "  asm volatile(\n"
        "      \"cp.async.bulk.tensor.{2}d.shared::cluster.global.mbarrier::complete_tx::bytes{6} [%0], [%1, {{{3}}}], [%2]{7};\" "
        "::\"r\"(to),\n"
        "      \"l\"(&map), \"r\"(barrier){4}\n"
        "      : \"memory\");\n}}\n",
        side, parameters, dimensions, operands, inputs, shared ? " to every block of the cluster" : "", shared ? ".multicast::cluster" : "",
        mask);
  }

  /// Fetching one slot's tiles of an operand.
  std::string fetch(const gemm_operand& o, const std::string& side, const std::string& position, bool shared) const {
    std::string rest;
    for (const int b : o.batch) rest += ", " + name(b);
    const bool many = planes(o) > 1;
    const std::string upper = side == "left" ? "LEFT" : "RIGHT";
    const std::string tile = side == "left" ? "TILE_M" : "TILE_N";
    std::vector<std::string> lines;
    std::string to = side, indent;
    if (many) {
      lines.push_back(fmt::format("for (int p = 0; p < {}_PLANES; ++p)", upper));
      to += fmt::format(" + p * {}_BYTES", upper);
      rest += ", p";
      indent = "  ";
    }
    const std::string share = shared ? "rank * (" + (o.along ? std::string("TILE_K") : tile) + " / CLUSTER)" : "";
    if (o.along) {
      lines.push_back(indent + fmt::format("for (int i = 0; i < {} / 64; ++i)", tile));
      const std::string row_offset = shared ? fmt::format(" + {} * {}", share, row_bytes_along) : "";
      lines.push_back(indent + fmt::format("  fetch_{}({} + i * TILE_K * {}{}, {}_map, barrier, {} + 64 * i, depth{}{});", side, to,
                                           row_bytes_along, row_offset, side, position, shared ? " + " + share : "", rest));
    } else {
      const std::string row_offset = shared ? fmt::format(" + {} * ROW_BYTES", share) : "";
      lines.push_back(indent + fmt::format("fetch_{}({}{}, {}_map, barrier, depth, {}{}{});", side, to, row_offset, side, position,
                                           shared ? " + " + share : "", rest));
    }
    return lines_of(lines, "          ");
  }

  /// The operand's tile from depth k on (left: of row r) as WGMMA takes it.
  std::string matrix_text(const gemm_operand& o, const std::string& base) const {
    const bool left = base == "left";
    if (o.along)
      return fmt::format("ks_matrix({}{} + k * {}, TILE_K * {}, 1024, 1)", base,
                         left ? fmt::format(" + r / 64 * TILE_K * {}", row_bytes_along) : "", row_bytes_along, row_bytes_along);
    return fmt::format("ks_matrix({}{} + k * ELEMENT_BYTES, 16, 8 * ROW_BYTES, {})", base, left ? " + r * ROW_BYTES" : "",
                       s_.tile_k * plan_.element_bytes() == row_bytes_along ? 1 : 2);
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
    const std::string clear =
        s_.splits > 1 ? "      if (at.split * share >= last) {\n#pragma unroll\n        for (int piece = 0; piece < PIECES; ++piece)\n"
                        "#pragma unroll\n          for (int i = 0; i < TILE_N / 2; ++i) acc[piece][i] = 0.0f;\n      }"
                      : "";
    std::string filled = nest::fill(text, {{"PRODUCTS", lines_of(products, "        ")}, {"RELEASE", release("slot")}, {"CLEAR", clear}});
    while (!filled.empty() && filled.back() == '\n') filled.pop_back();
    return filled.substr(filled.find_first_not_of('\n'));
  }

  fills kernel_fills() const {
    const bool clustered = s_.cluster > 1;
    const std::string fewer = s_.consumers == 3 ? "32" : "40", more = s_.consumers == 3 ? "160" : "232";
    const auto registers = [&](const char* direction, const std::string& count) {
      return s_.consumers == 1 ? std::string() : fmt::format("asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");", direction, count);
    };
    std::string coordinates = plan_.nest.batch.empty() ? "" : unpack_text(plan_.nest.p, plan_.nest.batch, "at.batch", "        ", "int");
    return {
        {"RIGHT_MATRIX", matrix_text(plan_.right, "right")},
        {"LEFT_MATRIX", matrix_text(plan_.left, "left")},
        {"CLUSTER_ATTRIBUTE", clustered ? "__cluster_dims__(CLUSTER, 1, 1) " : ""},
        {"PARTIAL_PARAMETER", s_.splits > 1 ? ", float* partial" : ""},
        {"RANK", clustered ? "ks_cluster_rank()" : "0"},
        {"SYNC", clustered ? "ks_cluster_sync();" : "__syncthreads();"},
        {"LEAVE", clustered ? "ks_cluster_sync();  // the others may still write into this block's memory" : ""},
        {"FEWER_REGISTERS", registers("dec", fewer)},
        {"MORE_REGISTERS", registers("inc", more)},
        {"BATCH_COORDINATES", coordinates},
        {"FETCH_LEFT", fetch(plan_.left, "left", "row", false)},
        {"FETCH_RIGHT", fetch(plan_.right, "right", "column", clustered)},
        {"SUMS", sums()},
        {"RESULT", s_.promote > 0 ? "sums" : "acc"},
        {"EMIT", s_.splits > 1
                     ? "ks_write8(partial + ((int64_t(at.split) * x.batches + at.batch) * x.rows + row) * x.columns + column, count, v);"
                     : "finish(t, at.batch, row, column, count, v);"}};
  }

  std::string unsplittable() const {
    return nest::fill(gemm_unsplittable_text, {{"BATCH_INDICES", unpack_text(plan_.nest.p, plan_.nest.batch, "batch", "    ")},
                                               {"ROW", name(plan_.nest.row)},
                                               {"COLUMN", name(plan_.nest.column)},
                                               {"DEPTH", name(depth())},
                                               {"LEFT_VALUE", value_text(plan_.left)},
                                               {"RIGHT_VALUE", value_text(plan_.right)}});
  }

  /// Is a plain operand readable where it lies? C++ over t's axes.
  std::string readable(const gemm_operand& o) const {
    std::string text;
    std::vector<int> variables = o.batch;
    variables.push_back(outer(o));
    for (const int variable : variables)
      text += fmt::format("{}({}) % {} == 0", text.empty() ? "" : " && ", o.at.stride(variable).text(ir_), plan_.row_unit());
    return text;
  }

  std::string layout() const {
    std::string text =
        "\n// Device memory beside the tensors: operands that the copy engine can't read where they lie, sums of parts, a flag.\n"
        "struct memory_layout {\n"
        "  bool left_packed, right_packed;\n"
        "  int64_t left_stride, right_stride, left_chunks, right_chunks;  // elements of a packed row; pieces of 8 elements of one plane\n"
        "  size_t right_at, partial_at, unusual_at, bytes;\n};\n"
        "static memory_layout layout_of(const axis_values& t) {\n  memory_layout l;\n";
    for (const gemm_operand* o : {&plan_.left, &plan_.right}) {
      const std::string side = side_of(*o, plan_);
      text += fmt::format("  l.{}_packed = {};\n", side, o->plain ? "!(" + readable(*o) + ")" : "true");
      text += fmt::format("  l.{0}_stride = ({1} + {3}) / {4} * {4};\n  l.{0}_chunks = l.{0}_packed ? l.{0}_stride / 8 * ({2})", side,
                          "(" + extent(inner(*o)) + ")", extent(outer(*o)), plan_.row_unit() - 1, plan_.row_unit());
      for (const int b : o->batch) text += fmt::format(" * ({})", extent(b));
      text += " : 0;\n";
    }
    text += "  const auto whole = [](size_t bytes) { return (bytes + 255) & ~size_t(255); };\n";
    text += "  l.right_at = whole(size_t(LEFT_PLANES * l.left_chunks) * 8 * ELEMENT_BYTES);\n";
    text += "  l.partial_at = l.right_at + whole(size_t(RIGHT_PLANES * l.right_chunks) * 8 * ELEMENT_BYTES);\n";
    const std::string partial = fmt::format("{}whole(SPLITS * sizeof(sum_type) * size_t({}))", "", elements());
    text += fmt::format("  l.unusual_at = l.partial_at{};\n", s_.splits > 1 ? " + " + partial : "");
    return text + "  l.bytes = l.unusual_at + 256;\n  return l;\n}\n";
  }

  std::string batches() const {
    std::string text;
    for (const int b : plan_.nest.batch) text += fmt::format("{}({})", text.empty() ? "" : " * ", extent(b));
    return text.empty() ? "1" : text;
  }
  std::string elements() const { return fmt::format("({}) * ({}) * {}", extent(plan_.nest.row), extent(plan_.nest.column), batches()); }

  /// Host code that packs an operand where needed and describes it.
  std::string describe(const gemm_operand& o, const std::string& side) const {
    const std::string upper = side == "left" ? "LEFT" : "RIGHT";
    const bool shared = side == "right" && s_.cluster > 1;
    const std::string tile = side == "left" ? "TILE_M" : "TILE_N";
    const std::string at = side == "left" ? "memory" : "memory + l.right_at";
    const bool flags = plan_.emulated() && planes(o) > 1;
    std::string text = fmt::format("  void* const {}_packed = {};\n", side, at);
    text += fmt::format(
        "  if (l.{0}_packed)\n    if (const int failed = ks_start(pack_{0}_kernel, dim3(unsigned(ks_blocks(l.{0}_chunks, 256, 32 * "
        "ks_multiprocessors()))), dim3(256), 0, stream, t,\n                                    {0}_packed, l.{0}_stride, "
        "l.{0}_chunks{1}))\n      return failed;\n",
        side, flags ? ", unusual" : "");

    // Dimensions: inner, outer, batch from the innermost on, plane.
    std::string extents = fmt::format("uint64_t({}), uint64_t({})", extent(inner(o)), extent(outer(o)));
    std::string packed_strides = fmt::format("uint64_t(l.{}_stride) * ELEMENT_BYTES", side), plain_strides;
    std::string step = fmt::format("uint64_t(l.{}_stride) * ELEMENT_BYTES * uint64_t({})", side, extent(outer(o)));
    if (o.plain) plain_strides = fmt::format("uint64_t({}) * ELEMENT_BYTES", o.at.stride(outer(o)).text(ir_));
    for (const int b : o.batch) extents += fmt::format(", uint64_t({})", extent(b));
    std::vector<std::string> batch_strides;
    for (auto b = o.batch.rbegin(); b != o.batch.rend(); ++b) {
      batch_strides.insert(batch_strides.begin(), step);
      step += fmt::format(" * uint64_t({})", extent(*b));
    }
    for (const std::string& stride : batch_strides) packed_strides += ", " + stride;
    if (o.plain)
      for (const int b : o.batch) plain_strides += fmt::format(", uint64_t({}) * ELEMENT_BYTES", o.at.stride(b).text(ir_));
    if (planes(o) > 1) {
      extents += fmt::format(", {}_PLANES", upper);
      packed_strides += fmt::format(", uint64_t(l.{}_chunks) * 8 * ELEMENT_BYTES", side);
    }
    text += fmt::format("  const uint64_t {}_extents[] = {{{}}};\n", side, extents);
    text += fmt::format("  const uint64_t {}_strides[] = {{{}}};\n", side, packed_strides);
    if (o.plain) text += fmt::format("  const uint64_t {}_plain_strides[] = {{{}}};\n", side, plain_strides);
    std::string box =
        o.along ? fmt::format("64, TILE_K{}", shared ? " / CLUSTER" : "") : fmt::format("TILE_K, {}{}", tile, shared ? " / CLUSTER" : "");
    for (std::size_t d = 2; d < rank(o); ++d) box += ", 1";
    text += fmt::format("  const uint32_t {}_box[] = {{{}}};\n", side, box);
    std::string data = fmt::format("{}_packed", side), strides = fmt::format("{}_strides", side);
    if (o.plain) {
      data = fmt::format("l.{0}_packed ? {0}_packed : const_cast<{1}*>(t.{2})", side, element_type(o),
                         ir_.tensors[static_cast<std::size_t>(o.at.tensor)].name);
      strides = fmt::format("l.{0}_packed ? {0}_strides : {0}_plain_strides", side);
    }
    text += fmt::format("  ks_tensor_map {}_map;\n", side);
    text += fmt::format(
        "  if (const int failed = ks_describe(&{0}_map, {1}, {2}, {3}, {0}_extents,\n                                     {4}, {0}_box, "
        "{5}))\n    return failed;\n",
        side,
        plan_.element == matrix_element::bf16  ? "KS_MAP_BF16"
        : plan_.element == matrix_element::f16 ? "KS_MAP_F16"
                                               : "KS_MAP_BYTES",
        data, rank(o), strides, o.along ? std::to_string(row_bytes_along) : "ROW_BYTES");
    return text;
  }

  std::string launch() const {
    std::string text = "\nstatic int start(const tensors& t, void* scratch, cudaStream_t stream) {\n";
    text += fmt::format("  const extents x = {{int({}), int({}), int({}), int({})}};\n", extent(plan_.nest.row), extent(plan_.nest.column),
                        extent(depth()), batches());
    text += "  const memory_layout l = layout_of(t);\n  char* const memory = static_cast<char*>(scratch);\n";
    if (plan_.emulated())
      text +=
          "  int* const unusual = reinterpret_cast<int*>(memory + l.unusual_at);\n"
          "  if (const cudaError_t failed = cudaMemsetAsync(unusual, 0, sizeof(int), stream)) return int(failed);\n";
    text += describe(plan_.left, "left") + describe(plan_.right, "right");
    text +=
        "\n  const int64_t tile_rows = (x.rows + CLUSTER * TILE_M - 1) / (CLUSTER * TILE_M), tile_columns = (x.columns + TILE_N - 1) / "
        "TILE_N;\n"
        "  const int64_t items = tile_rows * tile_columns * x.batches * SPLITS;\n"
        "  const unsigned blocks = unsigned(ks_blocks(items, 1, ks_multiprocessors() / CLUSTER)) * CLUSTER;\n";
    if (s_.splits > 1) text += "  float* const partial = reinterpret_cast<float*>(memory + l.partial_at);\n";
    text += fmt::format(
        "  if (const int failed = ks_start(gemm_kernel, dim3(blocks), dim3(THREADS), SHARED_BYTES, stream, left_map, right_map, t, x{}))\n"
        "    return failed;\n",
        s_.splits > 1 ? ", partial" : "");
    const std::string rows_of_eight = "ks_blocks(int64_t(x.batches) * x.rows * ((x.columns + 7) / 8), 256, 16 * ks_multiprocessors())";
    if (s_.splits > 1)
      text += fmt::format(
          "  if (const int failed = ks_start(join_kernel, dim3(unsigned({})), dim3(256), 0, stream, t, x, partial))\n    return failed;\n",
          rows_of_eight);
    if (plan_.emulated())
      text += fmt::format(
          "  if (const int failed = ks_start(plain_kernel, dim3(unsigned({})), dim3(256), 0, stream, t, x, unusual))\n    return failed;\n",
          rows_of_eight);
    return text + "  return 0;\n}\n";
  }

  const gemm_plan& plan_;
  const gemm_schedule& s_;
  const fusion_group& group_;
  std::string decisions_;
  const tensor_ir& ir_;
  std::vector<std::string> names_;
};

}  // namespace

emitted_group emit_gemm(const gemm_plan& plan, const gemm_schedule& schedule, const fusion_group& group, const std::string& decisions) {
  return emitter(plan, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::simt
