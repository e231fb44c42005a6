// Lane expressions: one value per lane, for real (vf or vd), whole (vi or vl) and masks.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/row_grammar_expression.hpp"

namespace kernsmith::agents::row {
namespace {

const char* lane_type(value_class type) {
  return type == value_class::real ? "real" : "whole";
}

/// Class in which the operands of a comparison are compared.
value_class compared_as(const row_statement& s, const expression& e) {
  for (const int a : e.arguments)
    if (s.nodes[static_cast<std::size_t>(a)].type == value_class::real) return value_class::real;
  return value_class::integer;
}

}  // namespace

std::string expression_writer::convert_lanes(const std::string& text, value_class from, value_class want) {
  if (from == want) return text;
  if (want == value_class::boolean) return fmt::format("({} != 0)", text);
  if (from == value_class::boolean)
    return want == value_class::integer ? fmt::format("(-{})", text) : fmt::format("vselect({}, splat(1.0), splat(0.0))", text);
  if (want == value_class::real) return fmt::format("to_real({})", text);
  return fmt::format("saturated<{}>({})", "int32_t", text);
}

std::string expression_writer::spread(const std::string& scalar_text, value_class type, lane_scope& scope, int source_tensor) {
  const std::string text = type == value_class::real      ? fmt::format("splat({})", scalar_text)
                           : type == value_class::integer ? fmt::format("splat_whole({})", scalar_text)
                                                          : fmt::format("splat_whole(-int64_t({}))", scalar_text);
  const auto found = scope.known.find(text);
  if (found != scope.known.end()) return found->second;
  std::string base = "constant";
  // A name that says what it holds, when the scalar is one.
  if (const std::size_t end = scalar_text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
      end == std::string::npos)
    base = scalar_text + "_all";
  else if (source_tensor >= 0)
    base = stem(source_tensor) + "_all";
  const std::string name = fresh(base);
  scope.hoisted->line(fmt::format("const {} {} = {};", lane_type(type), name, text));
  scope.known[text] = name;
  return name;
}

std::string expression_writer::hold(const std::string& text, value_class type, const std::string& base, lane_scope& scope) {
  const auto found = scope.known.find(text);
  if (found != scope.known.end()) return found->second;
  const std::string name = fresh(base);
  scope.body->line(fmt::format("const {} {} = {};", lane_type(type), name, text));
  scope.known[text] = name;
  return name;
}

std::string expression_writer::vector(const row_statement& s, int node, value_class want, lane_scope& scope) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  if (e.kind == expression_kind::number && want != value_class::boolean) {
    if (want == value_class::real) return fmt::format("splat({})", scalar(s, node, want));
    if (e.type == value_class::integer) return fmt::format("splat_whole({})", e.integer);
  }
  if (scope.lane < 0 || !depends_on(p_, s, node, scope.lane))
    return spread(scalar(s, node, want), want, scope, e.kind == expression_kind::load ? e.symbol : -1);
  std::string text;
  value_class type = e.type;
  switch (e.kind) {
    case expression_kind::index:
      text = fmt::format("(splat_whole({}) + lane_numbers())", class_name(e.symbol));
      type = value_class::integer;
      break;
    case expression_kind::load: {
      const int from = p_.written_by(e.symbol);
      if (from >= 0) {
        text = value_of(from, scope);
        type = p_.statements[static_cast<std::size_t>(from)].type;
      } else {
        text = vector_load(s, e, scope);
        type = class_of(p_.tensor(e.symbol).type);
      }
      break;
    }
    case expression_kind::cast:
      text = vector_cast(s, e, scope);
      type = class_of(e.cast_to);
      break;
    case expression_kind::call:
      text = vector_call(s, e, scope);
      break;
    default:
      assert(false && "reductions are taken apart by the sweeps");
      break;
  }
  return convert_lanes(text, type, want);
}

std::string expression_writer::vector_load(const row_statement& s, const expression& e, lane_scope& scope) {
  const dtype type = p_.tensor(e.symbol).type;
  const value_class values = class_of(type);
  bool bounds = false;
  for (std::size_t d = 0; d < e.indices.size(); ++d) bounds = bounds || needs_bounds(p_, e, d);
  const access how = access_of(p_, s, e, scope.lane);
  const std::string base = stem(e.symbol) + "_v";
  const char* const load = values == value_class::real ? "load" : "load_whole";
  std::string text;
  if (how == access::contiguous && !bounds) {
    text = fmt::format("{}({}, lanes)", load, address(s, e));
  } else if (how == access::contiguous) {
    text = padded_load(s, e, scope);
  } else {
    const index_names shifted = {{scope.lane, fmt::format("({} + l)", class_name(scope.lane))}};
    const std::string element =
        convert_scalar(scalar_load(s, e, shifted), values, values == value_class::real ? values : value_class::integer);
    text = fmt::format("{}(lanes, [&](int64_t l) {{ return {}; }})", values == value_class::real ? "by_lane" : "whole_by_lane", element);
    if (!bounds && is_tile(e, scope)) text = tile_load(s, e, text, scope);
  }
  if (values == value_class::boolean) text = fmt::format("{} != 0", text);
  return hold(text, values, base, scope);
}

/// Short rows side by side, x[.., lane, t] with a fixed number of t: a strip of them is one contiguous block, turned round in registers.
bool expression_writer::is_tile(const expression& e, const lane_scope& scope) const {
  if (plan_.fixed <= 0 || scope.before == nullptr || scope.within == nullptr || scope.within->over.size() != 1) return false;
  const int swept = scope.within->over.back();
  const std::size_t rank = e.indices.size();
  if (swept != plan_.fixed_class || rank < 2 || !is_float(p_.tensor(e.symbol).type)) return false;
  if (sole_index(e.indices[rank - 1]) != swept || sole_index(e.indices[rank - 2]) != scope.lane) return false;
  if (p_.shape(e.symbol)[rank - 1] != p_.classes[static_cast<std::size_t>(swept)].size) return false;
  return std::all_of(e.indices.begin(), e.indices.end() - 2, [&](const index_expression& place) {
    return place.is_affine && std::none_of(place.terms.begin(), place.terms.end(),
                                           [&](const affine_term& term) { return term.index == swept || term.index == scope.lane; });
  });
}

std::string expression_writer::tile_load(const row_statement& s, const expression& e, const std::string& otherwise, lane_scope& scope) {
  const int swept = scope.within->over.back();
  const std::string name = fresh(stem(e.symbol) + "_tile");
  text_block& before = *scope.before;
  before.line(fmt::format("// The short rows of {} are read as one block and turned round.", p_.tensor(e.symbol).name));
  before.line(fmt::format("real {}[V][kFixed > 0 ? kFixed : 1];", name));
  before.line("if constexpr (kFixed > 0)");
  before.line(fmt::format("for (int v = 0; v < V; ++v) load_transposed({}[v], {}, lanes);", name,
                          address(s, e, {{scope.lane, "(first + v * W)"}, {swept, "0"}})),
              1);
  return fmt::format("kFixed > 0 ? {}[v][kFixed > 0 ? {} : 0] : {}", name, class_name(swept), otherwise);
}

/// A contiguous load of a padded tensor: the row must be inside, the part of the vector that is outside becomes padding.
std::string expression_writer::padded_load(const row_statement& s, const expression& e, lane_scope& scope) {
  const std::size_t last = e.indices.size() - 1;
  expression row_start = e;
  row_start.indices[last] = index_expression{};
  const position row = locate(s, row_start, {});
  std::vector<std::string> outside = row.conditions;
  // The row's own position 0 is always inside: only the other dimensions' conditions count.
  if (needs_bounds(p_, row_start, last)) outside.pop_back();
  const bool real = class_of(p_.tensor(e.symbol).type) == value_class::real;
  const double pad = *p_.tensor(e.symbol).pad;
  const std::string first = affine(e.indices[last], {});
  const std::string inside = outside.empty() ? std::string("true") : fmt::format("{}", fmt::join(outside, " && "));
  return fmt::format("{}({}, {} + ({}), {}, {}, {}, lanes)", real ? "load_padded" : "load_whole_padded", inside, tensor_name(e.symbol),
                     row.offset, first, extent_text(p_.shape(e.symbol)[last]),
                     real ? real_literal(pad) : fmt::format("{}", static_cast<std::int64_t>(pad)));
  (void)scope;
}

std::string expression_writer::vector_cast(const row_statement& s, const expression& e, lane_scope& scope) {
  const value_class inner = s.nodes[static_cast<std::size_t>(e.arguments[0])].type;
  const std::string argument = vector(s, e.arguments[0], inner, scope);
  const std::string storage = storage_type(e.cast_to);
  if (e.cast_to == dtype::boolean) return convert_lanes(argument, inner, value_class::boolean);
  if (is_float(e.cast_to)) {
    const std::string real = convert_lanes(argument, inner, value_class::real);
    const bool same = e.cast_to == dtype::f64 || (e.cast_to == dtype::f32 && !p_.wide);
    return same ? real : fmt::format("rounded<{}>({})", storage, real);
  }
  if (inner == value_class::real) return fmt::format("saturated<{}>({})", storage, argument);
  const std::string whole = convert_lanes(argument, inner, value_class::integer);
  return e.cast_to == dtype::i64 ? whole : fmt::format("clamped<{}>({})", storage, whole);
}

std::string expression_writer::vector_divide(const row_statement& s, const expression& e, lane_scope& scope) {
  const std::string numerator = vector(s, e.arguments[0], value_class::real, scope);
  const bool uniform = scope.lane >= 0 && !depends_on(p_, s, e.arguments[1], scope.lane);
  if (!uniform || !plan_.reciprocal || p_.wide || plan_.where == lanes::across)
    return fmt::format("({} / {})", numerator, vector(s, e.arguments[1], value_class::real, scope));
  const std::string text = fmt::format("divisor({})", scalar(s, e.arguments[1], value_class::real));
  auto found = scope.known.find(text);
  if (found == scope.known.end()) {
    const std::string name = fresh("divide_by");
    scope.hoisted->line(fmt::format("const divisor {}{{{}}};", name, scalar(s, e.arguments[1], value_class::real)));
    found = scope.known.emplace(text, name).first;
  }
  return fmt::format("({} / {})", numerator, found->second);
}

std::string expression_writer::vector_call(const row_statement& s, const expression& e, lane_scope& scope) {
  const auto as = [&](std::size_t i, value_class want) { return vector(s, e.arguments[i], want, scope); };
  const auto real = [&](std::size_t i) { return as(i, value_class::real); };
  const value_class arithmetic = e.type == value_class::boolean ? value_class::real : e.type;
  const auto infix = [&](const char* symbol, value_class want) {
    const std::string left = as(0, want), right = as(1, want);
    return fmt::format("({} {} {})", left, symbol, right);
  };
  const auto compare = [&](const char* symbol) { return infix(symbol, compared_as(s, e)); };
  const auto function = [&](const char* name, const char* piece) {
    if (*piece != '\0') preludes.insert(piece);
    return fmt::format("{}({})", name, real(0));
  };
  const auto pair = [&](const char* name) {
    const std::string left = as(0, arithmetic), right = as(1, arithmetic);
    return fmt::format("{}({}, {})", name, left, right);
  };
  switch (e.op) {
    case operation::add:
      return infix("+", arithmetic);
    case operation::subtract:
      return infix("-", arithmetic);
    case operation::multiply:
      return infix("*", arithmetic);
    case operation::divide:
      return vector_divide(s, e, scope);
    case operation::negate:
      return fmt::format("(-{})", as(0, arithmetic));
    case operation::less:
      return compare("<");
    case operation::less_equal:
      return compare("<=");
    case operation::greater:
      return compare(">");
    case operation::greater_equal:
      return compare(">=");
    case operation::equal:
      return compare("==");
    case operation::not_equal:
      return compare("!=");
    case operation::logical_and:
      return infix("&", value_class::boolean);
    case operation::logical_or:
      return infix("|", value_class::boolean);
    case operation::logical_not:
      return fmt::format("(~{})", as(0, value_class::boolean));
    case operation::select: {
      const std::string condition = as(0, value_class::boolean), yes = as(1, e.type), no = as(2, e.type);
      return fmt::format("vselect({}, {}, {})", condition, yes, no);
    }
    case operation::minimum:
      return pair("smaller");
    case operation::maximum:
      return pair("larger");
    case operation::absolute:
      return fmt::format("vabs({})", as(0, arithmetic));
    case operation::exp:
      return function("vexp", "exp");
    case operation::log:
      return function("vlog", "log");
    case operation::log1p:
      return function("vlog1p", "log1p");
    case operation::expm1:
      return function("vexpm1", "expm1");
    case operation::sqrt:
      return function("vsqrt", "");
    case operation::rsqrt:
      return function("vrsqrt", "rsqrt");
    case operation::tanh:
      return function("vtanh", "tanh");
    case operation::erf:
      return function("verf", "erf");
    case operation::sigmoid:
      return function("vsigmoid", "sigmoid");
    case operation::sin:
      return function("vsin", "sincos");
    case operation::cos:
      return function("vcos", "sincos");
    case operation::pow: {
      preludes.insert("pow");
      const std::string base = real(0), exponent = real(1);
      return fmt::format("vpow({}, {})", base, exponent);
    }
    case operation::floor:
      return e.type == value_class::real ? function("vfloor", "") : as(0, e.type);
    case operation::ceil:
      return e.type == value_class::real ? function("vceil", "") : as(0, e.type);
    case operation::round:
      return e.type == value_class::real ? function("vround", "") : as(0, e.type);
    case operation::fma: {
      const std::string a = as(0, arithmetic), b = as(1, arithmetic), c = as(2, arithmetic);
      return arithmetic == value_class::real ? fmt::format("vfma({}, {}, {})", a, b, c) : fmt::format("({} * {} + {})", a, b, c);
    }
  }
  return "splat(0.0)";
}

std::string expression_writer::rounded_to_tensor(const row_statement& s, const std::string& text, value_class type) const {
  const tensor_declaration& t = p_.tensor(s.tensor);
  if (!t.type_declared || t.role == tensor_role::output || t.type == dtype::f64 || t.type == dtype::i64 || t.type == dtype::boolean)
    return text;
  const std::string storage = storage_type(t.type);
  if (is_float(t.type)) {
    if (type != value_class::real || (t.type == dtype::f32 && !p_.wide)) return text;
    return fmt::format("rounded<{}>({})", storage, text);
  }
  if (type == value_class::real) return fmt::format("to_real(saturated<{}>({}))", storage, text);
  return type == value_class::integer ? fmt::format("wrapped<{}>({})", storage, text) : text;
}

std::string expression_writer::point_value(int statement, lane_scope& scope) {
  const row_statement& s = p_.statements[static_cast<std::size_t>(statement)];
  if (!p_.search || p_.search->statement != statement) return vector(s, s.value, s.type, scope);
  const std::string value = vector(s, p_.search->value, value_class::real, scope);
  return fmt::format("borders_below<{}>(borders, {}, lanes)", p_.search->strict ? "true" : "false", value);
}

std::string expression_writer::value_of(int statement, lane_scope& scope) {
  const row_statement& s = p_.statements[static_cast<std::size_t>(statement)];
  if (s.kind == role::point || s.kind == role::reduce) {
    if (in_lanes(s)) return fmt::format("{}[v]", value_name(s));
    return spread(value_name(s), s.type, scope);
  }
  const auto known = scope.values.find(statement);
  if (known != scope.values.end()) return known->second;
  const std::vector<int>* back = scope.within != nullptr ? &scope.within->from_buffer : nullptr;
  if (back != nullptr && std::find(back->begin(), back->end(), statement) != back->end()) {
    const std::string text =
        fmt::format("{}({}, W)", s.type == value_class::real ? "load" : "load_whole", buffer_address(statement, scope));
    const std::string name = fresh(value_name(s));
    scope.body->line(fmt::format("const {} {} = {};", lane_type(s.type), name, text));
    return scope.values[statement] = name;
  }
  if (s.kind == role::nested) return nested(statement, scope);
  assert(s.kind == role::map && "scans are evaluated as sinks of their sweep");
  const std::string text = rounded_to_tensor(s, vector(s, s.value, s.type, scope), s.type);
  const std::string name = fresh(value_name(s));
  scope.body->line(fmt::format("const {} {} = {};", lane_type(s.type), name, text));
  return scope.values[statement] = name;
}

}  // namespace kernsmith::agents::row
