#include "backends/cuda/reference_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "backends/cpp/loop_nest.hpp"
#include "backends/cuda/generated_prelude.hpp"

namespace kernsmith::cuda {

namespace {

using cpp::arithmetic;
using cpp::bindings;
using cpp::code_text;
using cpp::nest_task;
using cpp::value_type;
using cpp::variable_set;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}
variable_set bit(int variable) {
  return variable_set{1} << variable;
}

/// The C++ generator's half type is a host compiler's; device code has a type of its own.
std::string on_device(std::string text) {
  constexpr std::string_view host = "_Float16", here = "half_value";
  for (std::size_t found = 0; (found = text.find(host, found)) != std::string::npos; found += here.size())
    text.replace(found, host.size(), here);
  return text;
}

std::string outside_type(const tensor_declaration& t, arithmetic mode) {
  if (mode == arithmetic::wide && t.role == tensor_role::output) return is_float(t.type) ? "double" : "int64_t";
  return cpp::storage_type(t.type);
}

/// Linear position over some variables, row-major.
std::string position_text(const nest_task& task, const std::vector<int>& order, const bindings& b) {
  std::string text;
  for (const int v : order) {
    const std::string& name = b.variables[at(v)];
    text = text.empty() ? name : fmt::format("({}) * {} + {}", text, task.extent(v), name);
  }
  return text.empty() ? "0" : text;
}

std::string count_text(const nest_task& task, const std::vector<int>& order) {
  std::string text = "int64_t{1}";
  for (const int v : order) text += " * " + task.extent(v);
  return text;
}

class source_writer {
 public:
  source_writer(const problem& p, arithmetic mode) : p_(p), mode_(mode) {}
  result<std::string> write(const std::string& heading);

 private:
  void declare_view();
  void write_statement(std::size_t number);
  /// A kernel that computes `node` for every position of `order`. `store` is the statement that keeps it.
  void write_kernel(const nest_task& task, const std::string& name, int node, const std::vector<int>& order, const bindings& b,
                    const std::function<std::string(const bindings&)>& store);
  bool write_block_kernel(const nest_task& task, const std::string& name, int node, const std::vector<int>& order, const bindings& b,
                          const std::function<std::string(const bindings&)>& store, std::string& terms);
  void write_scan_kernel(const nest_task& task, const std::string& name, int node, const std::vector<int>& order, const std::string& into,
                         const bindings& b);
  std::string add_temporary(const nest_task& task, const std::string& name, int node, const std::vector<int>& order);
  void open_kernel(code_text& code, const std::string& name, const std::string& count, bool whole_block);
  void unpack(code_text& code, const nest_task& task, const std::vector<int>& order, const bindings& b, const std::string& from);
  void member(const std::string& type, const std::string& name, const std::string& value, bool is_scratch);

  const problem& p_;
  arithmetic mode_;
  std::string view_, aliases_, set_up_, stores_, kernels_, calls_;
};

void source_writer::member(const std::string& type, const std::string& name, const std::string& value, bool is_scratch) {
  view_ += fmt::format("  {} {};\n", type, name);
  const bool pointer = type.back() == '*';
  aliases_ += fmt::format("  [[maybe_unused]] {} const {}{} = view.{};\n", type, pointer ? "__restrict__ " : "", name, name);
  set_up_ += fmt::format("  view.{} = {};\n", name, value);
  if (is_scratch) set_up_ += fmt::format("  if (view.{} == nullptr) return static_cast<int>(cudaErrorMemoryAllocation);\n", name);
}

void source_writer::declare_view() {
  for (std::size_t a = 0; a < p_.axes.size(); ++a) member("int64_t", "n_" + p_.axes[a].name, fmt::format("ctx->axes[{}]", a), false);
  int in = 0, out = 0;
  for (std::size_t t = 0; t < p_.tensors.size(); ++t) {
    const tensor_declaration& tensor = p_.tensors[t];
    const std::string name = cpp::tensor_name(p_, static_cast<int>(t)), type = outside_type(tensor, mode_);
    if (tensor.role == tensor_role::input) {
      member(fmt::format("const {}*", type), name, fmt::format("static_cast<const {}*>(in[{}].data)", type, in++), false);
    } else if (tensor.role == tensor_role::output) {
      member(type + "*", name, fmt::format("static_cast<{}*>(out[{}].data)", type, out++), false);
    } else {
      const std::string held = cpp::intermediate_type(tensor, mode_);
      std::string count = "int64_t{1}";
      for (const dim& d : tensor.shape)
        count += d.axis >= 0 ? " * view.n_" + p_.axes[at(d.axis)].name : fmt::format(" * int64_t{{{}}}", d.constant);
      stores_ += fmt::format("scratch_memory {}_store;\n", name);
      member(held + "*", name, fmt::format("scratch<{}>({}_store, {})", held, name, count), true);
    }
  }
}

void source_writer::open_kernel(code_text& code, const std::string& name, const std::string& count, bool whole_block) {
  kernels_ += fmt::format("\n__global__ void {}(const definition_view view) {{\n{}", name, aliases_);
  code.open(whole_block
                ? fmt::format("for (int64_t ks_at = blockIdx.x; ks_at < {}; ks_at += gridDim.x)", count)
                : fmt::format("for (int64_t ks_at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; ks_at < {}; ks_at += "
                              "static_cast<int64_t>(gridDim.x) * blockDim.x)",
                              count));
}

/// Index variables from a linear position.
void source_writer::unpack(code_text& code, const nest_task& task, const std::vector<int>& order, const bindings& b,
                           const std::string& from) {
  if (order.empty()) return;
  const std::string rest = from + "_rest";
  code.line(fmt::format("[[maybe_unused]] int64_t {} = {};", rest, from));
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::string& name = b.variables[at(order[i])];
    if (i == 0) {
      code.line(fmt::format("[[maybe_unused]] const int64_t {} = {};", name, rest));
    } else {
      code.line(fmt::format("[[maybe_unused]] const int64_t {} = {} % {};", name, rest, task.extent(order[i])));
      code.line(fmt::format("{} /= {};", rest, task.extent(order[i])));
    }
  }
}

void source_writer::write_kernel(const nest_task& task, const std::string& name, int node, const std::vector<int>& order, const bindings& b,
                                 const std::function<std::string(const bindings&)>& store) {
  variable_set available = 0;
  for (const int v : order) available |= bit(v);
  code_text code;
  open_kernel(code, name, count_text(task, order), false);
  unpack(code, task, order, b, "ks_at");
  bindings inner = b;
  cpp::write_ready_reductions(code, task, node, inner, available, "");
  code.line(store(inner));
  code.close();
  kernels_ += code.text() + "}\n";
  std::string terms = "int64_t{0}";
  const bool together = write_block_kernel(task, name + "_block", node, order, b, store, terms);
  calls_ += fmt::format("  run({0}, {1}, {2}, {3}, view, stream);\n", name,
                        together ? name + "_block" : "static_cast<void (*)(definition_view)>(nullptr)", count_text(task, order), terms);
}

/// Only where reductions that combine in any order stand at the top.
bool source_writer::write_block_kernel(const nest_task& task, const std::string& name, int node, const std::vector<int>& order,
                                       const bindings& b, const std::function<std::string(const bindings&)>& store, std::string& terms) {
  std::vector<int> open;  // not yet bound, outermost ones
  for (const int inner : task.expressions.reductions_under(node)) {
    if (!b.nodes[at(inner)].empty()) continue;
    open.push_back(inner);
  }
  std::vector<int> top;
  for (const int candidate : open) {
    const bool nested = std::any_of(open.begin(), open.end(), [&](int other) {
      if (other == candidate) return false;
      const std::vector<int> under = task.expressions.reductions_under(other);
      return std::find(under.begin(), under.end(), candidate) != under.end();
    });
    if (!nested) top.push_back(candidate);
  }
  if (top.empty()) return false;
  for (const int reduction_node : top) {
    const expression& e = task.s.nodes[at(reduction_node)];
    if (e.kind != expression_kind::reduce || e.reducer == reduction::argmax || e.reducer == reduction::argmin) return false;
  }
  variable_set available = 0;
  for (const int v : order) available |= bit(v);
  code_text code;
  open_kernel(code, name, count_text(task, order), true);
  unpack(code, task, order, b, "ks_at");
  bindings outer = b;
  for (const int reduction_node : top) {
    const expression& e = task.s.nodes[at(reduction_node)];
    const std::string r = fmt::format("r{}", reduction_node), k = fmt::format("ks_k{}", reduction_node);
    const std::string type = cpp::type_text(task.expressions.accumulator_type(reduction_node));
    terms = count_text(task, e.bound);
    code.line(fmt::format("{} {}_own = {};", type, r, task.expressions.identity(reduction_node)));
    code.open(fmt::format("for (int64_t {0} = threadIdx.x; {0} < {1}; {0} += blockDim.x)", k, terms));
    unpack(code, task, e.bound, outer, k);
    variable_set within = available;
    for (const int v : e.bound) within |= bit(v);
    bindings inner = b;
    cpp::write_ready_reductions(code, task, e.arguments[0], inner, within, "");
    const std::string next = task.expressions.value_as(e.arguments[0], task.expressions.accumulator_type(reduction_node), inner);
    code.line(fmt::format("{0}_own = {1};", r, task.expressions.combine(reduction_node, r + "_own", next)));
    code.close();
    code.line(fmt::format("const {0} {1} = across_block<{0}>({1}_own, [] __device__({0} a, {0} b) -> {0} {{ return {2}; }});", type, r,
                          task.expressions.combine(reduction_node, "a", "b")));
    outer.nodes[at(reduction_node)] = r;
  }
  code.line("if (threadIdx.x == 0) " + store(outer));
  code.close();
  kernels_ += code.text() + "}\n";
  return true;
}

void source_writer::write_scan_kernel(const nest_task& task, const std::string& name, int node, const std::vector<int>& order,
                                      const std::string& into, const bindings& b) {
  const expression& e = task.s.nodes[at(node)];
  const std::vector<int> lines(order.begin(), order.end() - 1);  // the scanned index stands last
  variable_set available = 0;
  for (const int v : lines) available |= bit(v);
  code_text code;
  open_kernel(code, name, count_text(task, lines), false);
  unpack(code, task, lines, b, "ks_at");
  const value_type type = task.expressions.accumulator_type(node);
  bindings inner = b;
  cpp::write_ready_reductions(code, task, e.arguments[0], inner, available, "");
  code.line(fmt::format("{} ks_so_far = {};", cpp::type_text(type), task.expressions.identity(node)));
  const std::string& along = b.variables[at(order.back())];
  code.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", along, task.extent(order.back())));
  cpp::write_ready_reductions(code, task, e.arguments[0], inner, available | bit(order.back()), "");
  code.line(
      fmt::format("ks_so_far = {};", task.expressions.combine(node, "ks_so_far", task.expressions.value_as(e.arguments[0], type, inner))));
  code.line(fmt::format("{}[{}] = ks_so_far;", into, position_text(task, order, b)));
  code.close();
  code.close();
  kernels_ += code.text() + "}\n";
  calls_ +=
      fmt::format("  run({0}, static_cast<void (*)(definition_view)>(nullptr), {1}, 0, view, stream);\n", name, count_text(task, lines));
}

std::string source_writer::add_temporary(const nest_task& task, const std::string& name, int node, const std::vector<int>& order) {
  const std::string type = cpp::type_text(task.expressions.accumulator_type(node));
  std::string count = "int64_t{1}";
  for (const int v : order) {
    const dim& d = task.s.variables[at(v)].extent;
    count += d.axis >= 0 ? " * view.n_" + p_.axes[at(d.axis)].name : fmt::format(" * int64_t{{{}}}", d.constant);
  }
  stores_ += fmt::format("scratch_memory {}_store;\n", name);
  member(type + "*", name, fmt::format("scratch<{}>({}_store, {})", type, name, count), true);
  return name;
}

void source_writer::write_statement(std::size_t number) {
  const statement& s = p_.statements[number];
  const nest_task task(p_, s, mode_);
  bindings b = task.fresh_bindings();
  variable_set free = 0;
  for (const int v : s.target_indices) free |= bit(v);
  kernels_ += "\n// " + [&] {
    std::string one_line = s.text;
    for (char& c : one_line) c = c == '\n' || c == '\\' ? ' ' : c;
    return one_line;
  }();
  // Scans, and reductions that many elements share, are computed once and kept.
  for (const int node : task.expressions.reductions_under(s.root)) {
    const expression& e = s.nodes[at(node)];
    const variable_set depends = task.expressions.depends_on(node);
    const bool scan = e.kind == expression_kind::scan;
    if (!scan && ((depends & ~free) != 0 || depends == free)) continue;
    std::vector<int> order;
    for (int v = 0; v < static_cast<int>(s.variables.size()); ++v) {
      if ((depends & bit(v)) != 0 && !(scan && v == e.bound[0])) order.push_back(v);
    }
    if (scan) order.push_back(e.bound[0]);
    const std::string name = add_temporary(task, fmt::format("shared_{}_{}", number, node), node, order);
    const std::string kernel = fmt::format("statement_{}_part_{}", number, node);
    if (scan) {
      write_scan_kernel(task, kernel, node, order, name, b);
    } else {
      write_kernel(task, kernel, node, order, b, [&](const bindings& inner) {
        return fmt::format("{}[{}] = {};", name, position_text(task, order, inner), task.expressions.value(node, inner));
      });
    }
    b.nodes[at(node)] = fmt::format("{}[{}]", name, position_text(task, order, b));
  }
  write_kernel(task, fmt::format("statement_{}", number), s.root, s.target_indices, b,
               [&](const bindings& inner) { return task.expressions.store(inner); });
}

result<std::string> source_writer::write(const std::string& heading) {
  if (p_.statements.empty()) return fail(fault::bad_request, fmt::format("{}: there is no definition to generate code from", p_.name));
  declare_view();
  for (std::size_t n = 0; n < p_.statements.size(); ++n) {
    if (p_.statements[n].variables.size() > cpp::max_variables_per_statement) {
      return fail(fault::bad_request, fmt::format("{}:{}: a statement has more than {} index variables", p_.path.string(),
                                                  p_.statements[n].place.line, cpp::max_variables_per_statement));
    }
    write_statement(n);
  }
  std::string axes;
  for (const axis& a : p_.axes) axes += fmt::format("  [[maybe_unused]] const int64_t n_{0} = view.n_{0};\n", a.name);
  return on_device(
      fmt::format("// {}\n{}\nnamespace {{\n\nstruct definition_view {{\n{}}};\n{}\n{}\n}}  // namespace\n\n"
                  "extern \"C\" int launch([[maybe_unused]] const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {{\n"
                  "  definition_view view{{}};\n{}{}  const auto stream = static_cast<cudaStream_t>(ctx->stream);\n{}"
                  "  return static_cast<int>(cudaGetLastError());\n}}\n",
                  heading, generated_prelude(), view_, stores_, kernels_, set_up_, axes, calls_));
}

}  // namespace

result<std::string> reference_source(const problem& p) {
  return source_writer(p, arithmetic::wide)
      .write(fmt::format("Reference of '{}' in float64 and int64, generated from its definition.", p.name));
}

result<std::string> naive_source(const problem& p) {
  return source_writer(p, arithmetic::native)
      .write(fmt::format("Naive baseline of '{}': its definition as straightforward kernels.", p.name));
}

const std::vector<std::string>& generated_flags() {
  // numeric_limits in device code.
  static const std::vector<std::string> flags = {"--expt-relaxed-constexpr", "--extended-lambda"};
  return flags;
}

}  // namespace kernsmith::cuda
