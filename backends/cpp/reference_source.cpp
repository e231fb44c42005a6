#include "backends/cpp/reference_source.hpp"

#include <fmt/format.h>

#include "backends/cpp/generated_prelude.hpp"
#include "backends/cpp/loop_nest.hpp"

namespace kernsmith::cpp {

namespace {

/// Element type in which a tensor reaches `launch`.
std::string outside_type(const tensor_declaration& tensor, arithmetic mode) {
  if (mode == arithmetic::wide && tensor.role == tensor_role::output) return is_float(tensor.type) ? "double" : "int64_t";
  return storage_type(tensor.type);
}

void write_pointers(code_text& code, const problem& p, arithmetic mode) {
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    code.line(fmt::format("[[maybe_unused]] const int64_t n_{} = ctx->axes[{}];", p.axes[a].name, a));
  }
  int in = 0, out = 0;
  for (std::size_t t = 0; t < p.tensors.size(); ++t) {
    const tensor_declaration& tensor = p.tensors[t];
    const std::string name = tensor_name(p, static_cast<int>(t)), type = outside_type(tensor, mode);
    switch (tensor.role) {
      case tensor_role::input:
        code.line(
            fmt::format("[[maybe_unused]] const {0}* const __restrict {1} = static_cast<const {0}*>(in[{2}].data);", type, name, in++));
        break;
      case tensor_role::output:
        code.line(fmt::format("{0}* const __restrict {1} = static_cast<{0}*>(out[{2}].data);", type, name, out++));
        break;
      case tensor_role::intermediate: {
        const std::string held = intermediate_type(tensor, mode);
        std::string count = "int64_t{1}";
        for (const dim& d : tensor.shape) count += " * " + extent_text(p, d);
        code.line(fmt::format("static std::vector<{}> {}_store;", held, name));
        code.line(fmt::format("{0}* const __restrict {1} = scratch({1}_store, {2});", held, name, count));
        break;
      }
    }
  }
}

result<std::string> write_source(const problem& p, arithmetic mode, const std::string& heading) {
  if (p.statements.empty()) return fail(fault::bad_request, fmt::format("{}: there is no definition to generate code from", p.name));
  code_text code;
  write_pointers(code, p, mode);
  for (const statement& s : p.statements) {
    if (s.variables.size() > max_variables_per_statement) {
      return fail(fault::bad_request, fmt::format("{}:{}: a statement has more than {} index variables", p.path.string(), s.place.line,
                                                  max_variables_per_statement));
    }
    code.line("");
    code.line("// " + [&] {
      std::string one_line = s.text;
      for (char& c : one_line) c = c == '\n' || c == '\\' ? ' ' : c;
      return one_line;
    }());
    const nest_task task(p, s, mode);
    if (mode == arithmetic::native || !write_blocked_nest(code, task)) write_plain_nest(code, task);
  }
  code.line("return 0;");
  return fmt::format(
      "// {}\n{}\nextern \"C\" int launch([[maybe_unused]] const ks_tensor* in, int, ks_tensor* out, int, [[maybe_unused]] ks_launch* ctx) "
      "{{\n{}}}\n",
      heading, generated_prelude(), code.text());
}

}  // namespace

result<std::string> reference_source(const problem& p) {
  return write_source(p, arithmetic::wide, fmt::format("Reference of '{}' in float64 and int64, generated from its definition.", p.name));
}

result<std::string> naive_source(const problem& p) {
  return write_source(p, arithmetic::native, fmt::format("Naive baseline of '{}': its definition as straightforward loops.", p.name));
}

}  // namespace kernsmith::cpp
