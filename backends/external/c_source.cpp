#include "backends/external/c_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/loop_nest.hpp"
#include "backends/external/c_expression.hpp"

namespace kernsmith::external {

using cpp::bindings;
using cpp::value_type;
using cpp::variable_set;

namespace {

constexpr std::size_t scratch_alignment = 64;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// Loops of one statement.
class c_nest {
 public:
  c_nest(cpp::code_text& code, const problem& p, const statement& s) : code_(code), p_(p), s_(s), text_(p, s) {}
  [[nodiscard]] result<void> write();

 private:
  void open_loop(int variable, const bindings& b) {
    const std::string& name = b.variables[at(variable)];
    code_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", name, c_extent(p_, s_.variables[at(variable)].extent)));
  }
  void reduce(int node, bindings& b, variable_set available);
  void reduce_ready(int node, bindings& b, variable_set available);
  void update_argument(int node, const bindings& b, const std::string& name);
  [[nodiscard]] bool is_argument(int node) const {
    const reduction kind = s_.nodes[at(node)].reducer;
    return s_.nodes[at(node)].kind == expression_kind::reduce && (kind == reduction::argmax || kind == reduction::argmin);
  }

  cpp::code_text& code_;
  const problem& p_;
  const statement& s_;
  c_expression text_;
};

/// The first position whose value no other exceeds, counted row-major over the bound indices.
void c_nest::update_argument(int node, const bindings& b, const std::string& name) {
  const expression& e = s_.nodes[at(node)];
  std::string position;
  for (const int variable : e.bound) {
    const std::string& index = b.variables[at(variable)];
    position = position.empty() ? index : fmt::format("({}) * {} + {}", position, c_extent(p_, s_.variables[at(variable)].extent), index);
  }
  const value_type type = text_.facts().type_of(e.arguments[0]);
  code_.line(fmt::format("const {} {}_next = {};", c_type(type), name, text_.value(e.arguments[0], b)));
  code_.open(fmt::format("if ({0}_at < 0 || {0}_next {1} {0}_best)", name, e.reducer == reduction::argmax ? ">" : "<"));
  code_.line(fmt::format("{0}_best = {0}_next;", name));
  code_.line(fmt::format("{}_at = {};", name, position));
  code_.close();
}

void c_nest::reduce(int node, bindings& b, variable_set available) {
  const expression& e = s_.nodes[at(node)];
  const std::string name = fmt::format("r{}", node);
  const value_type type = text_.facts().accumulator_type(node);
  if (is_argument(node)) {
    code_.line(fmt::format("{} {}_best = 0;", c_type(text_.facts().type_of(e.arguments[0])), name));
    code_.line(fmt::format("int64_t {}_at = -1;", name));
  } else {
    code_.line(fmt::format("{} {} = {};", c_type(type), name, text_.identity(node)));
  }
  bindings inside = b;
  for (const int variable : e.bound) {
    open_loop(variable, inside);
    available |= variable_set{1} << variable;
    reduce_ready(e.arguments[0], inside, available);
  }
  if (is_argument(node)) {
    update_argument(node, inside, name);
  } else {
    code_.line(fmt::format("{} = {};", name, text_.combine(node, name, text_.value_as(e.arguments[0], type, inside))));
  }
  for (std::size_t i = 0; i < e.bound.size(); ++i) code_.close();
  b.nodes[at(node)] = is_argument(node) ? name + "_at" : name;
}

/// Every reduction under `node` that the indices in force suffice for, as far out as it can stand.
void c_nest::reduce_ready(int node, bindings& b, variable_set available) {
  for (const int inner : text_.facts().reductions_under(node)) {
    if (!b.nodes[at(inner)].empty() || s_.nodes[at(inner)].kind == expression_kind::scan) continue;
    if ((text_.facts().depends_on(inner) & ~available) != 0) continue;
    const std::vector<int> deeper = text_.facts().reductions_under(inner);
    const bool waits = std::any_of(deeper.begin(), deeper.end(),
                                   [&](int d) { return s_.nodes[at(d)].kind == expression_kind::scan && b.nodes[at(d)].empty(); });
    if (!waits) reduce(inner, b, available);
  }
}

result<void> c_nest::write() {
  bindings b;
  for (const index_variable& v : s_.variables) b.variables.push_back("i_" + v.name);
  b.nodes.resize(s_.nodes.size());
  std::vector<int> order = s_.target_indices, scans;
  for (const int node : text_.facts().reductions_under(s_.root)) {
    const expression& e = s_.nodes[at(node)];
    const std::vector<int> under = text_.facts().reductions_under(node);
    const bool holds_scan = std::any_of(under.begin(), under.end(),
                                        [&](int inner) { return inner != node && s_.nodes[at(inner)].kind == expression_kind::scan; });
    const bool other_way = e.kind == expression_kind::scan && !scans.empty() && s_.nodes[at(scans.front())].bound[0] != e.bound[0];
    if (holds_scan || other_way)
      return fail(fault::bad_request,
                  fmt::format("{}:{}: scans within others have no naive form in C; name a baseline of your own: [baselines.mine] source = "
                              "\"mine.c\"",
                              p_.path.string(), s_.place.line));
    if (e.kind == expression_kind::scan) scans.push_back(node);
  }
  if (!scans.empty()) {  // a scan carries its value along the innermost loop
    const int along = s_.nodes[at(scans.front())].bound[0];
    order.erase(std::find(order.begin(), order.end(), along));
    order.push_back(along);
  }
  code_.open("");
  variable_set available = 0;
  reduce_ready(s_.root, b, available);
  for (std::size_t depth = 0; depth < order.size(); ++depth) {
    if (depth + 1 == order.size()) {
      for (const int node : scans)
        code_.line(fmt::format("{} scan{} = {};", c_type(text_.facts().accumulator_type(node)), node, text_.identity(node)));
    }
    open_loop(order[depth], b);
    available |= variable_set{1} << order[depth];
    reduce_ready(s_.root, b, available);
  }
  for (const int node : scans) {
    const std::string name = fmt::format("scan{}", node);
    const std::string next = text_.value_as(s_.nodes[at(node)].arguments[0], text_.facts().accumulator_type(node), b);
    code_.line(fmt::format("{} = {};", name, text_.combine(node, name, next)));
    b.nodes[at(node)] = name;
  }
  reduce_ready(s_.root, b, available);
  code_.line(text_.store(b));
  for (std::size_t depth = 0; depth < order.size(); ++depth) code_.close();
  code_.close();
  return {};
}

void write_pointers(cpp::code_text& code, const problem& p) {
  for (std::size_t a = 0; a < p.axes.size(); ++a)
    code.line(fmt::format("const int64_t n_{0} = ctx->axes[{1}];\n  (void)n_{0};", p.axes[a].name, a));
  code.line("size_t used = 0;");
  code.line("(void)used;");
  int in = 0, out = 0;
  for (std::size_t t = 0; t < p.tensors.size(); ++t) {
    const tensor_declaration& tensor = p.tensors[t];
    const std::string name = cpp::tensor_name(p, static_cast<int>(t)), type = c_storage_type(tensor.type);
    if (tensor.role == tensor_role::input) {
      code.line(fmt::format("const {0}* const restrict {1} = (const {0}*)in[{2}].data;\n  (void){1};", type, name, in++));
    } else if (tensor.role == tensor_role::output) {
      code.line(fmt::format("{0}* const restrict {1} = ({0}*)out[{2}].data;", type, name, out++));
    } else {
      const std::string held = c_intermediate_type(tensor);
      std::string count = fmt::format("sizeof({})", held);
      for (const dim& d : tensor.shape) count += " * (size_t)" + c_extent(p, d);
      code.line(fmt::format("{0}* const restrict {1} = ({0}*)ks_scratch(ctx, &used, {2});", held, name, count));
      code.line(fmt::format("if ({} == NULL) return 1;", name));
    }
  }
}

}  // namespace

result<std::string> naive_c_source(const problem& p) {
  if (p.statements.empty()) return fail(fault::bad_request, fmt::format("{}: there is no definition to generate code from", p.name));
  cpp::code_text code;
  write_pointers(code, p);
  for (const statement& s : p.statements) {
    std::string shown = s.text;
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c == '\n' || c == '\\'; }, ' ');
    code.line("");
    code.line("// " + shown);
    if (auto written = c_nest(code, p, s).write(); !written) return tl::unexpected(written.error());
  }
  code.line("return 0;");
  return fmt::format(
      "// Naive baseline of '{}': its definition as straightforward loops.\n{}\n"
      "int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx) {{\n"
      "  (void)in, (void)n_in, (void)n_out;\n{}}}\n",
      p.name, c_prelude(), code.text());
}

std::size_t naive_workspace_bytes(const problem& p, const std::vector<std::int64_t>& axes) {
  std::size_t bytes = 0;
  for (const tensor_declaration& t : p.tensors) {
    if (t.role != tensor_role::intermediate) continue;
    const std::size_t widest = sizeof(double);
    bytes += static_cast<std::size_t>(element_count(shape_of(t, axes))) * widest + scratch_alignment;
  }
  return bytes;
}

const std::string& c_prelude() {
  static const std::string text = R"prelude(#include "kernsmith_kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

// Bits and values of floats that C lacks.
static inline float ks_float_of(uint32_t bits) {
  union { uint32_t bits; float value; } u = {bits};
  return u.value;
}
static inline uint32_t ks_bits_of(float value) {
  union { float value; uint32_t bits; } u = {value};
  return u.bits;
}
static inline float ks_from_bf16(uint16_t bits) {
  return ks_float_of((uint32_t)bits << 16);
}
static inline uint16_t ks_to_bf16(float value) {
  const uint32_t bits = ks_bits_of(value);
  return (uint16_t)(value != value ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
static inline float ks_from_f16(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return ks_float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  return ks_float_of(sign | ks_bits_of(ks_float_of(rest << 13) * 0x1p112f));
}
static inline uint16_t ks_to_f16(float value) {
  const uint32_t bits = ks_bits_of(value), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (size < 0x38800000u) {  // below the smallest normal number: adding 0.5 rounds at the right bit
    return (uint16_t)(sign | (ks_bits_of(ks_float_of(size) + 0.5f) - 0x3f000000u));
  }
  return (uint16_t)(sign | ((size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13));
}
// 8-bit floats: `low` is the least normal exponent, `fraction` the number of stored fraction bits.
static inline float ks_from_f8(uint8_t bits, int fraction, int low, int has_infinity) {
  const int size = bits & 0x7f, exponent = size >> fraction, rest = size & ((1 << fraction) - 1);
  float value = exponent == 0 ? ldexpf((float)rest, low - fraction) : ldexpf((float)((1 << fraction) + rest), exponent - 1 + low - fraction);
  if (has_infinity && exponent == (127 >> fraction)) value = rest ? NAN : INFINITY;
  if (!has_infinity && size == 0x7f) value = NAN;
  return bits & 0x80 ? -value : value;
}
static inline uint8_t ks_to_f8(float value, int fraction, int low, float largest, int above) {
  const int sign = signbit(value) ? 0x80 : 0;
  const float size = fabsf(value);
  if (value != value) return (uint8_t)(sign | 0x7f);
  if (size == 0) return (uint8_t)sign;
  if (isinf(size)) return (uint8_t)(sign | above);
  int exponent = ilogbf(size);
  if (exponent < low) exponent = low;
  const float units = nearbyintf(ldexpf(size, fraction - exponent));
  if (ldexpf(units, exponent - fraction) > largest) return (uint8_t)(sign | above);
  return (uint8_t)(sign | ((int)units + ((exponent - low) << fraction)));
}
static inline float ks_from_f8e4m3(uint8_t bits) { return ks_from_f8(bits, 3, -6, 0); }
static inline float ks_from_f8e5m2(uint8_t bits) { return ks_from_f8(bits, 2, -14, 1); }
static inline uint8_t ks_to_f8e4m3(float value) { return ks_to_f8(value, 3, -6, 448.0f, 0x7f); }
static inline uint8_t ks_to_f8e5m2(float value) { return ks_to_f8(value, 2, -14, 57344.0f, 0x7c); }

// Truncated towards zero and saturated; NaN becomes 0.
static inline int64_t ks_saturated(double value, int64_t low, int64_t high) {
  if (value != value) return 0;
  if (value <= (double)low) return low;
  if (value >= (double)high) return high;
  return (int64_t)value;
}
static inline int64_t ks_clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}
static inline int64_t ks_absolute(int64_t value) { return value < 0 ? -value : value; }
static inline int ks_inside(int64_t position, int64_t extent) { return position >= 0 && position < extent; }

// A NaN on either side wins.
static inline float ks_larger_f32(float a, float b) { return (a > b || a != a) ? a : b; }
static inline float ks_smaller_f32(float a, float b) { return (a < b || a != a) ? a : b; }
static inline double ks_larger_f64(double a, double b) { return (a > b || a != a) ? a : b; }
static inline double ks_smaller_f64(double a, double b) { return (a < b || a != a) ? a : b; }
static inline int64_t ks_larger_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ks_smaller_i64(int64_t a, int64_t b) { return a < b ? a : b; }

// The next part of the workspace, or NULL.
static inline void* ks_scratch(const ks_launch* ctx, size_t* used, size_t bytes) {
  const size_t at = (*used + 63) & ~(size_t)63;
  if (at + bytes > ctx->workspace_bytes) return NULL;
  *used = at + bytes;
  return (char*)ctx->workspace + at;
}
)prelude";
  return text;
}

}  // namespace kernsmith::external
