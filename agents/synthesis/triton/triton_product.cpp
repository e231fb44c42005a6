#include "agents/synthesis/triton/triton_product.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/expression_tools.hpp"
#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/triton/triton_tile.hpp"

namespace kernsmith::agents::triton {

using simt::simt_program;

namespace {

std::set<int> classes_of(const simt_program& p, int i, const std::vector<int>& nodes) {
  std::set<int> all;
  for (std::size_t c = 0; c < p.rows.classes.size(); ++c)
    for (const int node : nodes)
      if (p.rows.classes[c].alive && row::depends_on(p.rows, p.at(i), node, static_cast<int>(c))) all.insert(static_cast<int>(c));
  return all;
}

bool covers(const std::set<int>& whole, const std::set<int>& part) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

/// Splits the factors into two sides, each with a free index that the other lacks.
bool take_sides(const simt_program& p, product& found) {
  const row::row_statement& s = p.at(found.sum);
  std::vector<int> factors = factors_of(p.flat.statements[static_cast<std::size_t>(found.sum)], s.value);
  const auto free_of = [&](const std::vector<int>& nodes) {
    std::set<int> all = classes_of(p, found.sum, nodes);
    for (const int c : s.bound) all.erase(c);
    return all;
  };
  for (std::size_t a = 0; a < factors.size(); ++a)
    for (std::size_t b = a + 1; b < factors.size(); ++b) {
      const std::set<int> left = free_of({factors[a]}), right = free_of({factors[b]});
      if (covers(left, right) || covers(right, left)) continue;
      found.left = {factors[a]};
      found.right = {factors[b]};
      for (std::size_t k = 0; k < factors.size(); ++k) {
        if (k == a || k == b) continue;
        const std::set<int> own = free_of({factors[k]});
        if (!covers(left, own) && !covers(right, own)) return false;
        (covers(left, own) ? found.left : found.right).push_back(factors[k]);
      }
      return true;
    }
  return false;
}

/// The load that a side is, through casts that keep its values; -1 for anything else.
int plain_load(const simt_program& p, int i, const std::vector<int>& factors) {
  if (factors.size() != 1) return -1;
  int node = factors[0];
  const row::row_statement& s = p.at(i);
  while (s.nodes[static_cast<std::size_t>(node)].kind == expression_kind::cast) {
    const expression& e = s.nodes[static_cast<std::size_t>(node)];
    const expression& operand = s.nodes[static_cast<std::size_t>(e.arguments[0])];
    const bool keeps = e.type == operand.type &&
                       (e.cast_to == dtype::f32 || e.cast_to == dtype::f64 || e.cast_to == dtype::i32 || e.cast_to == dtype::i64);
    if (!keeps) return -1;
    node = e.arguments[0];
  }
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  return e.kind == expression_kind::load && p.rows.written_by(e.symbol) < 0 ? node : -1;
}

std::optional<dtype> raw_type(const simt_program& p, const product& found) {
  const int a = plain_load(p, found.sum, found.left), b = plain_load(p, found.sum, found.right);
  if (a < 0 || b < 0) return std::nullopt;
  const auto& nodes = p.at(found.sum).nodes;
  const dtype left = p.tensor(nodes[static_cast<std::size_t>(a)].symbol).type,
              right = p.tensor(nodes[static_cast<std::size_t>(b)].symbol).type;
  const bool taken = left == dtype::f16 || left == dtype::bf16 || left == dtype::i8;
  return left == right && taken ? std::optional(left) : std::nullopt;
}

class product_writer {
 public:
  product_writer(const simt_program& p, const product& found, const tensor_ir& host, const product_choice& choice)
      : p_(p), found_(found), host_(host), choice_(choice), name_(p.rows.name + "_product") {}

  std::string run() {
    kernel();
    host_function();
    return out_.text();
  }

 private:
  bool integer() const { return p_.at(found_.sum).type == value_class::integer; }
  std::string number(std::int64_t value) const { return std::to_string(value); }

  std::vector<kernel_constant> constants() const {
    std::vector<kernel_constant> all = {{"BLOCK_M", number(choice_.block_m)},
                                        {"BLOCK_N", number(choice_.block_n)},
                                        {"BLOCK_K", number(choice_.block_k)},
                                        {"BAND", number(choice_.band)},
                                        {"STAGES", number(choice_.stages)}};
    if (found_.raw == dtype::bf16) all.emplace_back("OPERAND", "ks_operand(tl.bfloat16)");
    // So many products of 8 bits fit 32.
    if (integer()) all.emplace_back("TOTAL", fmt::format("tl.int32 if {} < 2**17 else tl.int64", p_.product(found_.along)));
    return all;
  }

  std::string total() const { return integer() ? "TOTAL" : found_.wide ? "tl.float64" : "tl.float32"; }

  void kernel() {
    out_.line("# A program multiplies tiles; BAND rows of tiles run side by side, so that caches serve their operands.");
    for (int i = 0; i < p_.count(); ++i) out_.line("#   " + p_.at(i).text);
    open_kernel(out_, name_, p_.flat, simt::kernel_parameters(p_), constants());
    tile_writer code(p_, found_.wide, out_);
    code.where.extent = "(BLOCK_M, BLOCK_N)";
    place(code);
    out_.line(fmt::format("total = tl.zeros((BLOCK_M, BLOCK_N), {})", total()));
    out_.open(fmt::format("for start in tl.range(0, {}, BLOCK_K, num_stages=STAGES)", p_.product(found_.along)));
    side(code, "left", found_.left, along_columns);
    side(code, "right", found_.right, along_rows);
    if (integer())
      out_.line("total += tl.dot(left, right, out_dtype=tl.int32).to(TOTAL)");
    else
      out_.line("total = tl.dot(left, right, total, input_precision=\"ieee\")");
    out_.close();
    finish(code);
    out_.close();
    out_.line("");
    out_.line("");
  }

  void place(tile_writer& code) {
    const std::string down = p_.product(found_.down), across = p_.product(found_.across);
    out_.line("program = tl.program_id(0)");
    out_.line(fmt::format("tiles_m = tl.cdiv({}, BLOCK_M)", down));
    out_.line(fmt::format("tiles_n = tl.cdiv({}, BLOCK_N)", across));
    if (!found_.batch.empty()) {
      code.number_indices(found_.batch, "batch", "(program // (tiles_m * tiles_n)).to(index)", along_nothing);
      out_.line("program = program % (tiles_m * tiles_n)");
    }
    out_.line("tile_m, tile_n = tl.swizzle2d(program // tiles_n, program % tiles_n, tiles_m, tiles_n, BAND)");
    code.number_indices(found_.down, "row", "tile_m.to(index) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]", along_rows);
    code.number_indices(found_.across, "column", "tile_n.to(index) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]", along_columns);
    out_.line(fmt::format("row_inside = {} < {}", name_of(found_.down, "row"), down));
    out_.line(fmt::format("column_inside = {} < {}", name_of(found_.across, "column"), across));
  }

  std::string name_of(const std::vector<int>& classes, const std::string& together) const {
    return classes.size() == 1 ? p_.class_name(classes[0]) : together;
  }

  /// One operand of tl.dot; what is summed over lies along `steps` of its tile.
  void side(tile_writer& code, const std::string& name, const std::vector<int>& factors, tile_axes steps) {
    const auto before = code.known();
    const bool columns = steps == along_columns;
    code.number_indices(found_.along, "step", fmt::format("start + tl.arange(0, BLOCK_K){}.to(index)", columns ? "[None, :]" : "[:, None]"),
                        steps);
    out_.line(fmt::format("step_inside = {} < {}", name_of(found_.along, "step"), p_.product(found_.along)));
    code.where.live = {columns ? "row_inside" : "step_inside", columns ? "step_inside" : "column_inside"};
    const int i = found_.sum, load = plain_load(p_, i, factors);
    const std::string extent = columns ? "(BLOCK_M, BLOCK_K)" : "(BLOCK_K, BLOCK_N)";
    if (found_.raw) {
      const double pad = p_.tensor(p_.at(i).nodes[static_cast<std::size_t>(load)].symbol).pad.value_or(0);
      write_side(name, code.code(i).raw_load(load), pad != 0, extent, load);
    } else {
      std::string value;
      for (const int factor : factors) {
        code.define_operands(i, factor);
        code.load_operands(i, factor);
        value += (value.empty() ? "" : " * ") + code.code(i).tensor_value(factor, value_class::real);
      }
      const bool zero = load >= 0 && p_.tensor(p_.at(i).nodes[static_cast<std::size_t>(load)].symbol).pad.value_or(0) == 0;
      write_side(name, value, !zero, extent, load);
    }
    code.go_back(before);
  }

  /// Beyond the end both sides are zero, since zero times what isn't finite is not.
  void write_side(const std::string& name, const std::string& value, bool masks, const std::string& extent, int load) {
    const std::string operand = found_.raw == dtype::bf16 ? "OPERAND" : found_.raw ? triton_type(*found_.raw) : "";
    std::string text = masks ? fmt::format("tl.where(step_inside, {}, 0.0)", value) : value;
    if (found_.raw == dtype::bf16 || (found_.raw && masks)) text = fmt::format("{}.to({})", text, operand);
    const std::set<int> own = classes_of(p_, found_.sum, name == "left" ? found_.left : found_.right);
    const bool whole = load >= 0 && std::any_of(found_.along.begin(), found_.along.end(), [&](int c) { return own.contains(c); });
    if (!whole) text = fmt::format("tl.broadcast_to({}, {})", text, extent);
    if (text != name) out_.line(fmt::format("{} = {}", name, text));
  }

  void finish(tile_writer& code) {
    code.where.live = {"row_inside", "column_inside"};
    const int i = found_.sum;
    const auto points = [&](int from, int to) {
      for (int k = from; k < to; ++k) {
        const row::row_statement& s = p_.at(k);
        if (s.kind != row::role::point) continue;
        code.define_operands(k, s.value);
        code.load_operands(k, s.value);
        code.define(k, code.code(k).named_value(s.value, s.type), s.type);
        if (s.stored) code.store(k);
      }
    };
    points(0, i);
    code.define(i, integer() ? "total.to(tl.int64)" : "total", p_.at(i).type);
    if (p_.at(i).stored) code.store(i);
    points(i + 1, p_.count());
  }

  void host_function() {
    out_.open(fmt::format("def {}_group({})", p_.rows.name, fmt::join(host_arguments(p_, host_), ", ")));
    for (const std::string& line : host_names(p_, host_)) out_.line(line);
    std::vector<std::string> counts;
    for (const std::vector<int>* classes : {&found_.down, &found_.across, &found_.along}) counts.push_back(p_.product(*classes));
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    out_.line(choose_index(p_, host_, counts));
    std::string programs = fmt::format("triton.cdiv({}, {}) * triton.cdiv({}, {})", p_.product(found_.down), choice_.block_m,
                                       p_.product(found_.across), choice_.block_n);
    if (!found_.batch.empty()) programs += " * " + p_.product(found_.batch);
    out_.line(start_kernel(name_, programs, kernel_arguments(p_, host_), constants(), fmt::format("num_warps={}", choice_.warps)));
    out_.close();
    out_.line("");
    out_.line("");
  }

  const simt_program& p_;
  const product& found_;
  const tensor_ir& host_;
  product_choice choice_;
  std::string name_;
  python_writer out_;
};

}  // namespace

std::optional<product> find_product(const simt_program& p) {
  product found;
  for (int i = 0; i < p.count(); ++i) {
    const row::row_statement& s = p.at(i);
    if (s.kind == row::role::reduce && found.sum < 0)
      found.sum = i;
    else if (s.kind != row::role::point && (s.kind != row::role::map || s.stored))
      return std::nullopt;
  }
  if (found.sum < 0) return std::nullopt;
  const row::row_statement& s = p.at(found.sum);
  if (s.reducer != reduction::sum || s.type == value_class::boolean || s.bound.empty() || !take_sides(p, found)) return std::nullopt;
  const std::set<int> left = classes_of(p, found.sum, found.left), right = classes_of(p, found.sum, found.right);
  for (const int c : p.rows.parallel) {
    if (!left.contains(c) && !right.contains(c)) return std::nullopt;
    (left.contains(c) && right.contains(c) ? found.batch : left.contains(c) ? found.down : found.across).push_back(c);
  }
  found.along = s.bound;
  found.raw = raw_type(p, found);
  if (s.type == value_class::integer) {
    if (found.raw != dtype::i8) return std::nullopt;
    for (const statement& flat : p.flat.statements) found.wide = found.wide || needs_double(p.flat, flat);
  } else {
    if (found.raw == dtype::i8) return std::nullopt;
    found.wide = p.rows.wide;
    if (found.wide) found.raw.reset();
  }
  return found;
}

std::string write_product(const simt_program& p, const product& found, const tensor_ir& host, const product_choice& choice) {
  return product_writer(p, found, host, choice).run();
}

}  // namespace kernsmith::agents::triton
