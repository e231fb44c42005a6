// Products over a common index on the ordinary arithmetic units: any reduction of any expression whose operands each vary along one of two
// result indices (matrix products in f32 and f64, distances, min-plus). Operands go through shared memory by tiles; each thread keeps a
// square of results in registers. What tensor cores can do as precisely is the gemm grammar's.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

/// Threads along each side of a tile.
constexpr std::int64_t side = 16;
/// Neighbouring elements that a thread reads from shared memory and writes to results at once.
constexpr std::int64_t chunk = 4;
constexpr std::int64_t static_shared_bytes = 48 << 10;

/// A load of the reduction that shared memory holds a tile of.
struct staged {
  int node = -1;
  bool left = false;         ///< varies along the rows of the result, else along its columns
  std::string name;          ///< of its tile
  bool along_depth = false;  ///< contiguous along the summed index, else along the result's
};

struct contraction {
  simt_program p;
  int reduce = -1;  ///< statement
  int row = -1, column = -1, depth = -1;
  std::vector<int> batch;
  std::vector<staged> loads;
  [[nodiscard]] std::string type() const { return p.rows.wide ? "double" : "float"; }
};

bool varies(const contraction& c, const expression& e, int index) {
  return row::access_of(c.p.rows, c.p.at(c.reduce), e, index) != row::access::absent;
}

/// One reduction to all parallel indices, over one index, first; elementwise statements after it.
bool find_parts(contraction& c) {
  if (c.p.rows.parallel.size() < 2) return false;
  for (int i = 0; i < c.p.count(); ++i) {
    const row::row_statement& s = c.p.at(i);
    if (s.kind == row::role::reduce) {
      if (c.reduce >= 0 || i != 0 || s.bound.size() != 1 || s.target.size() != c.p.rows.parallel.size()) return false;
      if (s.reducer == reduction::argmax || s.reducer == reduction::argmin) return false;
      c.reduce = i;
      c.depth = s.bound[0];
    } else if (s.kind != row::role::point || c.reduce < 0) {
      return false;
    }
  }
  if (c.reduce < 0) return false;
  c.column = c.p.rows.parallel.back();
  return true;
}

/// Every operand varies along the depth and one side; the other indices number independent products.
bool find_loads(contraction& c) {
  const row::row_statement& s = c.p.at(c.reduce);
  lane_code code(c.p);
  for (const int m : c.p.rows.parallel) {
    if (m == c.column) continue;
    c.loads.clear();
    bool good = true, lefts = false, rights = false;
    row::walk(s, s.value, [&](int node) {
      const expression& e = s.nodes[static_cast<std::size_t>(node)];
      if (e.kind != expression_kind::load || !good) return;
      for (std::size_t d = 0; d < e.indices.size(); ++d)
        good = good && e.indices[d].is_affine && !row::needs_bounds(c.p.rows, e, d) && !c.p.tensor(e.symbol).pad;
      if (!good) return;
      const bool left = varies(c, e, m), right = varies(c, e, c.column);
      good = left != right && varies(c, e, c.depth);
      (left ? lefts : rights) = true;
      staged load{node, left, fmt::format("{}_tile{}", c.p.stem(e.symbol), c.loads.size()), false};
      load.along_depth = row::access_of(c.p.rows, s, e, c.depth) == row::access::contiguous;
      c.loads.push_back(load);
    });
    if (!good || !lefts || !rights) continue;
    c.row = m;
    for (const int b : c.p.rows.parallel)
      if (b != m && b != c.column) c.batch.push_back(b);
    return true;
  }
  return false;
}

std::optional<contraction> plan(const tensor_ir& ir, const fusion_group& group) {
  std::optional<simt_program> p = analyse_simt(ir, group);
  if (!p) return std::nullopt;
  contraction c;
  c.p = std::move(*p);
  if (!find_parts(c) || !find_loads(c)) return std::nullopt;
  return c;
}

struct choice {
  std::int64_t tile = 128, depth = 16;
};

class emitter {
 public:
  emitter(const contraction& c, const choice& chosen)
      : c_(c), p_(c.p), chosen_(chosen), code_(p_), sum_(accumulator_of(p_, code_, c.reduce)) {}

  std::string run() {
    kernel();
    launcher();
    return out_.text();
  }

 private:
  std::string value_type(const staged& k) const {
    const dtype type = p_.tensor(p_.at(c_.reduce).nodes[static_cast<std::size_t>(k.node)].symbol).type;
    return code_.type_text(c_.reduce, class_of(type));
  }
  std::string extent(int index) const { return p_.class_extent(index); }

  void kernel() {
    const std::string m = p_.class_name(c_.row), n = p_.class_name(c_.column), k = p_.class_name(c_.depth);
    out_.line("// A tile of results for each block; each thread keeps kOwn x kOwn of them, in chunks of 4 rows and columns.");
    for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
    out_.line("template <class ks_ix>");
    out_.open(fmt::format("__global__ void __launch_bounds__({}) {}_product_kernel({})", side * side, p_.rows.name,
                          parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix")));
    out_.line(fmt::format("constexpr int kThreads = {}, kSide = {}, kTile = {}, kDepth = {}, kOwn = kTile / kSide;", side * side, side,
                          chosen_.tile, chosen_.depth));
    out_.line("constexpr int kLoads = kTile * kDepth / kThreads;  // elements of a tile that each thread brings");
    for (const staged& load : c_.loads)
      out_.line(fmt::format("__shared__ __align__(16) {} {}[2][kDepth][kTile + {}];", value_type(load), load.name, chunk));
    out_.line("const int lane = int(threadIdx.x) % kSide, slice = int(threadIdx.x) / kSide;");
    out_.line(fmt::format("const ks_ix tiles = ({} + kTile - 1) / kTile, packs = ({} + kTile - 1) / kTile;  // along a row, along a column",
                          extent(c_.column), extent(c_.row)));
    out_.line(fmt::format(
        "const ks_ix {0}_start = ks_ix(blockIdx.x) / tiles % packs * kTile, {1}_start = ks_ix(blockIdx.x) % tiles * kTile;", m, n));
    for (const std::string& line : unpack_batch()) out_.line("[[maybe_unused]] " + line);
    out_.line(fmt::format("{} total[kOwn][kOwn];", sum_.type));
    out_.line("#pragma unroll");
    out_.line("for (int down = 0; down < kOwn; ++down)");
    out_.line("#pragma unroll");
    out_.line(fmt::format("  for (int across = 0; across < kOwn; ++across) total[down][across] = {};", sum_.initial));
    for (const staged& load : c_.loads) out_.line(fmt::format("{} {}_next[kLoads];", value_type(load), load.name));
    bring(m, n, k);
    out_.line("bring(ks_ix(0));");
    out_.line("put(0);");
    out_.line("__syncthreads();");
    out_.line(fmt::format("const ks_ix steps = ({} + kDepth - 1) / kDepth;", extent(c_.depth)));
    out_.open("for (ks_ix step = 0; step < steps; ++step)");
    out_.line("const int now = int(step % 2);");
    out_.line("if (step + 1 < steps) bring((step + 1) * kDepth);  // on its way while this tile is multiplied");
    multiply(m, n, k);
    out_.line("if (step + 1 < steps) put(1 - now);");
    out_.line("__syncthreads();");
    out_.close();
    finish(m, n);
    out_.close();
    out_.line("");
  }

  std::vector<std::string> unpack_batch() const {
    std::vector<std::string> lines;
    std::string rest = "ks_ix(blockIdx.x) / (tiles * packs)";
    for (std::size_t b = c_.batch.size(); b-- > 0;) {
      const std::string name = p_.class_name(c_.batch[b]), size = extent(c_.batch[b]);
      lines.push_back(fmt::format("const ks_ix {} = {}{};", name, rest, b > 0 ? " % " + size : ""));
      rest = fmt::format("{} / {}", rest, size);
    }
    return lines;
  }

  /// Elements outside of the tensors are brought as zero: the multiplication leaves them out.
  void bring(const std::string& m, const std::string& n, const std::string& k) {
    out_.open("const auto bring = [&](ks_ix start)");
    for (const staged& load : c_.loads) {
      const std::string& other = load.left ? m : n;
      out_.line("#pragma unroll");
      out_.open("for (int l = 0; l < kLoads; ++l)");
      out_.line("const int at = l * kThreads + int(threadIdx.x);");
      out_.line(load.along_depth ? "const int right = at % kDepth, left = at / kDepth;"
                                 : "const int left = at % kTile, right = at / kTile;");
      out_.line(fmt::format("const ks_ix {0} = {0}_start + left, {1} = start + right;", other, k));
      out_.line(fmt::format("{}_next[l] = {} < {} && {} < {} ? {} : {}(0);", load.name, other, extent(load.left ? c_.row : c_.column), k,
                            extent(c_.depth), code_.value(c_.reduce, load.node, node_class(load)), value_type(load)));
      out_.close();
    }
    out_.close(";");
    out_.open("const auto put = [&](int buffer)");
    for (const staged& load : c_.loads) {
      out_.line("#pragma unroll");
      out_.open("for (int l = 0; l < kLoads; ++l)");
      out_.line("const int at = l * kThreads + int(threadIdx.x);");
      out_.line(load.along_depth ? fmt::format("{0}[buffer][at % kDepth][at / kDepth] = {0}_next[l];", load.name)
                                 : fmt::format("{0}[buffer][at / kTile][at % kTile] = {0}_next[l];", load.name));
      out_.close();
    }
    out_.close(";");
  }

  value_class node_class(const staged& load) const { return p_.at(c_.reduce).nodes[static_cast<std::size_t>(load.node)].type; }

  void multiply(const std::string& m, const std::string& n, const std::string& k) {
    out_.line("#pragma unroll");
    out_.open("for (int level = 0; level < kDepth; ++level)");
    out_.line(fmt::format("const ks_ix {} = step * kDepth + level;", k));
    out_.line(fmt::format("if ({} >= {}) break;", k, extent(c_.depth)));
    for (const staged& load : c_.loads) {
      out_.line(fmt::format("{} {}_own[kOwn];", value_type(load), load.name));
      out_.line("#pragma unroll");
      out_.open("for (int four = 0; four < kOwn; four += 4)");
      out_.line(fmt::format("const auto pack = ks_load<4, false>(&{}[now][level][four * kSide + {} * 4]);", load.name,
                            load.left ? "slice" : "lane"));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < 4; ++l) {}_own[four + l] = pack.at[l];", load.name));
      out_.close();
      code_.ready(c_.reduce, load.node, fmt::format("{}_own[{}]", load.name, load.left ? "down" : "across"));
    }
    open_own();
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = {}_start + {}, {} = {}_start + {};", m, m, own("down", "slice"), n, n,
                          own("across", "lane")));
    for (const std::string& line : take_in(p_, code_, c_.reduce, "total[down][across]")) out_.line(line);
    out_.close();
    out_.close();
    out_.close();
  }

  static std::string own(const std::string& i, const std::string& who) {
    return fmt::format("{0} / 4 * 4 * kSide + {1} * 4 + {0} % 4", i, who);
  }

  void open_own() {
    out_.line("#pragma unroll");
    out_.open("for (int down = 0; down < kOwn; ++down)");
    out_.line("#pragma unroll");
    out_.open("for (int across = 0; across < kOwn; ++across)");
  }

  void finish(const std::string& m, const std::string& n) {
    open_own();
    out_.line(fmt::format("const ks_ix {} = {}_start + {}, {} = {}_start + {};", m, m, own("down", "slice"), n, n, own("across", "lane")));
    out_.line(fmt::format("if ({} >= {} || {} >= {}) continue;", m, extent(c_.row), n, extent(c_.column)));
    for (int i = 0; i < p_.count(); ++i) {
      const row::row_statement& s = p_.at(i);
      const std::string name = p_.stem(s.tensor) + "_row";
      const std::string value =
          i == c_.reduce ? finished(code_, i, sum_, "total[down][across]") : code_.seen(i, code_.value(i, s.value, s.type), s.type);
      out_.line(fmt::format("[[maybe_unused]] const {} {} = {};", code_.seen_type(i), name, value));
      code_.know(i, name);
      if (s.stored) out_.line(fmt::format("{} = {};", code_.target_element(i), code_.stored(i, name, class_of(p_.tensor(s.tensor).type))));
    }
    out_.close();
    out_.close();
  }

  void launcher() {
    out_.open(fmt::format("static int {}_launch({}, cudaStream_t ks_stream)", p_.rows.name,
                          parameter_text(p_.flat, host_parameters(p_), all_statements(p_), "int64_t")));
    for (const std::string& line : derive_axes(p_)) out_.line(line);
    const auto blocks = [&](int index) { return fmt::format("({} + {} - 1) / {}", extent(index), chosen_.tile, chosen_.tile); };
    out_.line(fmt::format("const int64_t count = ({}) * ({}) * {};", blocks(c_.column), blocks(c_.row), p_.product(c_.batch)));
    out_.line("if (count > 0x7fffffff) return int(cudaErrorInvalidConfiguration);");
    out_.line("const dim3 grid(static_cast<unsigned>(count));");
    const std::string arguments = argument_text(p_.flat, kernel_parameters(p_));
    const auto start = [&](const char* index) {
      return fmt::format("return ks_start({}_product_kernel<{}>, grid, dim3({}), 0, ks_stream, {});", p_.rows.name, index, side * side,
                         arguments);
    };
    if (typically_narrow(p_)) out_.line(fmt::format("if ({}) {}", fits_narrow(p_.flat, all_statements(p_)), start("int32_t")));
    out_.line(start("int64_t"));
    out_.close();
  }

  const contraction& c_;
  const simt_program& p_;
  choice chosen_;
  lane_code code_;
  accumulator sum_;
  source_writer out_;
};

class contraction_grammar final : public simt_grammar {
 public:
  using simt_grammar::simt_grammar;
  std::string_view name() const override { return "contraction"; }
  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return plan(ir, group).has_value(); }

  std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const override {
    const contraction c = *plan(ir, group);
    const std::int64_t results = c.p.typical(c.p.rows.parallel);
    const bool large = results >= 128 * 128 * model().multiprocessors;
    return {{group.name + ".tile", {64, 128}, {}, large ? 1U : 0U, 2.0, "rows and columns of results per block"},
            {group.name + ".depth", {8, 16, 32}, {}, 1, 1.5, "elements of the summed index in shared memory at a time"}};
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    const contraction c = *plan(ir, group);
    std::int64_t& depth = chosen[group.name + ".depth"];
    constexpr std::int64_t buffers = 2, widest = 8;
    const std::int64_t bytes = buffers * widest * static_cast<std::int64_t>(c.loads.size()) * (chosen[group.name + ".tile"] + chunk);
    while (depth > 8 && depth * bytes > static_shared_bytes) depth /= 2;
    if (depth * bytes > static_shared_bytes) chosen[group.name + ".tile"] = 64;
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    const contraction c = *plan(ir, group);
    emitted_group emitted;
    emitted.functions = emitter(c, {chosen.at(group.name + ".tile"), chosen.at(group.name + ".depth")}).run();
    emitted.call = call_of(group.name + "_launch", argument_text(ir, host_parameters(c.p)));
    emitted.preludes = {"vectors"};
    for (const row::row_statement& s : c.p.rows.statements)
      if (s.stored && ir.tensors[static_cast<std::size_t>(s.tensor)].role == tensor_role::intermediate) emitted.stored.push_back(s.tensor);
    return emitted;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_contraction_grammar(const simt_model& model) {
  return std::make_unique<contraction_grammar>(model);
}

}  // namespace kernsmith::agents::simt
