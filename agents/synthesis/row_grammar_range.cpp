#include "agents/synthesis/row_grammar_range.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "agents/synthesis/row_grammar_program.hpp"

namespace kernsmith::agents::row {
namespace {

constexpr int int32_bits = 31;          // magnitude bits of an int32 lane
constexpr int float_integer_bits = 24;  // integers up to 2^24 are exact floats
constexpr int int64_bits = 63;

int dtype_bits(dtype type) {
  switch (type) {
    case dtype::boolean:
      return 1;
    case dtype::i8:
      return 7;
    case dtype::u8:
      return 8;
    case dtype::i16:
      return 15;
    case dtype::i32:
      return int32_bits;
    default:
      return int64_bits;
  }
}

/// Looks at every value that is computed in lanes (positions of gathers are always computed as int64 scalars).
class range_check {
 public:
  explicit range_check(const row_program& p) : p_(p) {}

  std::optional<bool> run() {
    for (const row_statement& s : p_.statements) {
      check_tensor(s.tensor);
      const bool modular = ends_in_store(s) && dtype_bits(p_.tensor(s.tensor).type) <= int32_bits;
      const bool accumulates = s.bound.empty() || s.reducer == reduction::sum || s.reducer == reduction::prod;
      if (s.type == value_class::integer && statement_bits(s) > int32_bits && !modular) wide_ = true;
      if ((s.reducer == reduction::argmax || s.reducer == reduction::argmin) && !exact(s, s.value)) wide_ = true;
      check(s, s.value, modular && accumulates);
      const bool truncates = s.nodes[static_cast<std::size_t>(s.value)].type == value_class::real && !is_float(p_.tensor(s.tensor).type) &&
                             s.type == value_class::real;
      if (truncates && (s.stored || p_.tensor(s.tensor).type_declared) && !exact(s, s.value)) wide_ = true;
    }
    return wide_;
  }

 private:
  const expression& at(const row_statement& s, int node) const { return s.nodes[static_cast<std::size_t>(node)]; }

  void check_tensor(int tensor) {
    const dtype type = p_.tensor(tensor).type;
    if (type == dtype::f64) wide_ = true;
  }

  bool ends_in_store(const row_statement& s) const {
    for (const row_statement& reader : p_.statements)
      for (const expression& e : reader.nodes)
        if (e.kind == expression_kind::load && e.symbol == s.tensor) return false;
    return s.stored;
  }

  /// Magnitude bits that an integer or boolean value can need.
  int bits(const row_statement& s, int node) const {
    const expression& e = at(s, node);
    const auto argument = [&](std::size_t i) { return bits(s, e.arguments[i]); };
    switch (e.kind) {
      case expression_kind::number:
        return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::llabs(e.integer))));
      case expression_kind::index:
      case expression_kind::axis:
        return int32_bits;
      case expression_kind::load:
        return load_bits(e);
      case expression_kind::cast:
        return at(s, e.arguments[0]).type == value_class::real ? dtype_bits(e.cast_to) : std::min(dtype_bits(e.cast_to), argument(0));
      case expression_kind::call:
        break;
      default:
        return int64_bits;
    }
    if (e.type == value_class::boolean) return 1;
    switch (e.op) {
      case operation::add:
      case operation::subtract:
        return std::max(argument(0), argument(1)) + 1;
      case operation::multiply:
        return argument(0) + argument(1);
      case operation::negate:
      case operation::absolute:
        return argument(0) + 1;
      case operation::minimum:
      case operation::maximum:
        return std::max(argument(0), argument(1));
      case operation::select:
        return std::max(argument(1), argument(2));
      case operation::floor:
      case operation::ceil:
      case operation::round:
        return argument(0);
      default:
        return int64_bits;
    }
  }

  int load_bits(const expression& e) const {
    const int producer = p_.written_by(e.symbol);
    const tensor_declaration& t = p_.tensor(e.symbol);
    if (producer < 0 || t.type_declared) return dtype_bits(t.type);
    return statement_bits(p_.statements[static_cast<std::size_t>(producer)]);
  }

  int statement_bits(const row_statement& s) const {
    if (s.type == value_class::boolean) return 1;
    if (s.kind == role::map || s.kind == role::point) return bits(s, s.value);
    if (s.reducer == reduction::argmax || s.reducer == reduction::argmin) return int32_bits;
    const int body = at(s, s.value).type == value_class::real ? int64_bits : bits(s, s.value);
    if (s.reducer == reduction::max || s.reducer == reduction::min) return body;
    if (s.reducer == reduction::sum) return body <= 1 ? int32_bits : body + int32_bits;  // extents below 2^31 are checked at run time
    return int64_bits;
  }

  /// `modular`: only the low 32 bits of the value matter.
  void check(const row_statement& s, int node, bool modular) {
    const expression& e = at(s, node);
    if (e.type == value_class::integer && e.kind != expression_kind::reduce && e.kind != expression_kind::scan && !modular &&
        bits(s, node) > int32_bits)
      wide_ = true;
    if (e.kind == expression_kind::load) {
      if (p_.tensor(e.symbol).type == dtype::f64 && p_.written_by(e.symbol) < 0) wide_ = true;
      if (p_.tensor(e.symbol).type == dtype::i64 && p_.written_by(e.symbol) < 0) wide_ = true;
      return;
    }
    if (e.kind == expression_kind::cast) {
      if (e.cast_to == dtype::f64 || e.cast_to == dtype::i64) wide_ = true;
      if (!is_float(e.cast_to) && at(s, e.arguments[0]).type == value_class::real && !exact(s, e.arguments[0])) wide_ = true;
      check(s, e.arguments[0], false);
      return;
    }
    if (e.kind != expression_kind::call) return;
    if (is_comparison(e.op)) check_comparison(s, e);
    const bool steps = e.op == operation::floor || e.op == operation::ceil || e.op == operation::round;
    if (steps && !exact(s, e.arguments[0])) wide_ = true;
    if (e.op == operation::select) {
      check_select(s, e, modular);
      return;
    }
    const bool ring = e.op == operation::add || e.op == operation::subtract || e.op == operation::multiply || e.op == operation::negate;
    for (const int argument : e.arguments) check(s, argument, modular && ring && e.type == value_class::integer);
  }

  static bool is_comparison(operation op) { return op >= operation::less && op <= operation::not_equal; }

  void check_comparison(const row_statement& s, const expression& e) {
    const bool real = at(s, e.arguments[0]).type == value_class::real || at(s, e.arguments[1]).type == value_class::real;
    if (real && (!exact(s, e.arguments[0]) || !exact(s, e.arguments[1]))) wide_ = true;
  }

  /// select(a > 0, a, 0.1 * a) is continuous: an inexact `a` on the wrong side of 0 changes nothing that could be seen.
  void check_select(const row_statement& s, const expression& e, bool modular) {
    const expression& condition = at(s, e.arguments[0]);
    if (condition.kind == expression_kind::call && is_comparison(condition.op) && e.type == value_class::real) {
      for (std::size_t side = 0; side < 2; ++side) {
        const int a = condition.arguments[side];
        const expression& zero = at(s, condition.arguments[1 - side]);
        if (zero.kind == expression_kind::number && zero.number == 0 && zero.integer == 0 && vanishes_with(s, e.arguments[1], a) &&
            vanishes_with(s, e.arguments[2], a)) {
          check(s, a, false);
          check(s, e.arguments[1], false);
          check(s, e.arguments[2], false);
          return;
        }
      }
    }
    check(s, e.arguments[0], false);
    check(s, e.arguments[1], modular);
    check(s, e.arguments[2], modular);
  }

  bool same(const row_statement& s, int a, int b) const {
    const expression &x = at(s, a), &y = at(s, b);
    if (x.kind != y.kind || x.op != y.op || x.symbol != y.symbol || x.number != y.number || x.integer != y.integer ||
        x.cast_to != y.cast_to || x.indices != y.indices || x.arguments.size() != y.arguments.size())
      return false;
    if (std::any_of(x.indices.begin(), x.indices.end(), [](const index_expression& i) { return !i.is_affine; })) return a == b;
    for (std::size_t i = 0; i < x.arguments.size(); ++i)
      if (!same(s, x.arguments[i], y.arguments[i])) return false;
    return true;
  }

  bool vanishes_with(const row_statement& s, int node, int a) const {
    if (same(s, node, a)) return true;
    const expression& e = at(s, node);
    if (e.kind == expression_kind::number) return e.number == 0 && e.integer == 0;
    return e.kind == expression_kind::call && e.op == operation::multiply &&
           (vanishes_with(s, e.arguments[0], a) || vanishes_with(s, e.arguments[1], a));
  }

  /// Is the value the same in float lanes as in float64?
  bool exact(const row_statement& s, int node) const {
    const expression& e = at(s, node);
    if (e.type != value_class::real) return bits(s, node) <= float_integer_bits;
    if (e.kind == expression_kind::number) return static_cast<double>(static_cast<float>(e.number)) == e.number;
    if (e.kind == expression_kind::load) {
      if (p_.tensor(e.symbol).pad && static_cast<double>(static_cast<float>(*p_.tensor(e.symbol).pad)) != *p_.tensor(e.symbol).pad)
        return false;
      const int producer = p_.written_by(e.symbol);
      if (producer < 0) return true;
      const row_statement& from = p_.statements[static_cast<std::size_t>(producer)];
      const bool passes = from.bound.empty() || from.reducer == reduction::max || from.reducer == reduction::min;
      return passes && exact(from, from.value);
    }
    if (e.kind == expression_kind::cast) return is_float(e.cast_to) && exact(s, e.arguments[0]);
    if (e.kind != expression_kind::call) return false;
    const auto all_exact = [&](std::size_t from) {
      for (std::size_t i = from; i < e.arguments.size(); ++i)
        if (!exact(s, e.arguments[i])) return false;
      return true;
    };
    switch (e.op) {
      case operation::negate:
      case operation::absolute:
      case operation::minimum:
      case operation::maximum:
      case operation::floor:
      case operation::ceil:
      case operation::round:
        return all_exact(0);
      case operation::select:
        return all_exact(1);
      default:
        return false;
    }
  }

  const row_program& p_;
  bool wide_ = false;
};

}  // namespace

std::optional<bool> needs_wide_lanes(const row_program& p) {
  return range_check(p).run();
}

bool numbers_indices(const row_program& p) {
  for (const row_statement& s : p.statements) {
    if (!s.bound.empty() && s.type == value_class::integer) return true;
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::index || e.kind == expression_kind::axis) return true;
  }
  return false;
}

}  // namespace kernsmith::agents::row
