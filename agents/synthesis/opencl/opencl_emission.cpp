#include "agents/synthesis/opencl/opencl_emission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/opencl/opencl_prelude.hpp"
#include "agents/synthesis/source_writer.hpp"
#include "agents/synthesis/vector_c/c_emission.hpp"
#include "agents/synthesis/vector_c/c_scalar.hpp"

namespace kernsmith::agents::opencl {
namespace {

bool is_vector_type(const std::string& name) {
  for (const char* element : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half"})
    for (const char* width : {"2", "3", "4", "8", "16"})
      if (name == std::string(element) + width) return true;
  return false;
}

/// Keywords, and functions and macros that emitted kernels use. (C's keywords are kept out of the IR already.)
bool means_something(const std::string& name) {
  static const std::set<std::string> names = {
      "kernel",    "global",    "local",     "constant",      "generic",      "half",         "uchar",
      "ushort",    "uint",      "ulong",     "restrict",      "read_only",    "write_only",   "read_write",
      "event_t",   "sampler_t", "image1d_t", "image2d_t",     "image3d_t",    "complex",      "imaginary",
      "quad",      "bool",      "barrier",   "ldexp",         "ilogb",        "signbit",      "pown",
      "powr",      "rsqrt",     "select",    "get_global_id", "get_local_id", "get_group_id", "CLK_LOCAL_MEM_FENCE",
      "M_E",       "CHAR_MIN",  "CHAR_MAX",  "UCHAR_MAX",     "SHRT_MIN",     "SHRT_MAX",     "INT_MIN",
      "INT_MAX",   "LONG_MIN",  "LONG_MAX",  "ldexpf",        "ilogbf",       "fabsf",        "nearbyintf",
      "INT8_MIN",  "INT8_MAX",  "INT16_MIN", "INT16_MAX",     "INT32_MIN",    "INT32_MAX",    "INT64_MIN",
      "INT64_MAX", "UINT8_MAX", "uint32_t",  "uint16_t",      "uint8_t"};
  return names.contains(name) || is_vector_type(name) || name.starts_with("convert_") || name.starts_with("as_") ||
         name.starts_with("vload") || name.starts_with("vstore") || name.starts_with("cl_") || name.starts_with("CL_");
}

std::string device_name(const std::string& name) {
  return means_something(name) ? name + "_" : name;
}

std::string bytes_text(const tensor_ir& ir, const tensor_declaration& tensor) {
  std::string text = fmt::format("sizeof({})", vector_c::c_storage_type(tensor.type));
  for (const dim& d : tensor.shape) text += fmt::format(" * size_t({})", vector_c::c_extent(ir, d));
  return text;
}

void write_workspace(source_writer& out) {
  out.lines(
      "// Memory for intermediates: the caller's workspace when it is large enough, else a buffer that only grows.\n"
      "static char* ks_workspace(const ks_launch* ctx, size_t bytes) {\n"
      "  const uintptr_t given = (uintptr_t(ctx->workspace) + 63) & ~uintptr_t(63);\n"
      "  if (ctx->workspace != nullptr && given + bytes <= uintptr_t(ctx->workspace) + ctx->workspace_bytes) return "
      "reinterpret_cast<char*>(given);\n"
      "  static std::vector<char> own;\n"
      "  if (own.size() < bytes + 63) own.resize(bytes + 63);\n"
      "  return reinterpret_cast<char*>((uintptr_t(own.data()) + 63) & ~uintptr_t(63));\n"
      "}\n");
  out.line("");
}

void write_tensors(source_writer& out, const tensor_ir& ir, const std::set<int>& stored) {
  int inputs = 0, outputs = 0;
  for (const tensor_declaration& tensor : ir.tensors) {
    if (tensor.role == tensor_role::input) out.line(fmt::format("[[maybe_unused]] const ks::input {}(in[{}]);", tensor.name, inputs++));
    if (tensor.role == tensor_role::output) out.line(fmt::format("const ks::output {}(out[{}]);", tensor.name, outputs++));
  }
  std::string end = "0";
  for (const int id : stored) {
    const tensor_declaration& tensor = ir.tensors[static_cast<std::size_t>(id)];
    out.line(fmt::format("const size_t ks_at_{0} = {1}, ks_bytes_{0} = {2};", tensor.name, end, bytes_text(ir, tensor)));
    end = fmt::format("ks_at_{0} + ((ks_bytes_{0} + 63) & ~size_t(63))", tensor.name);
  }
  if (!stored.empty()) out.line(fmt::format("char* const ks_base = ks_workspace(ctx, {});", end));
  for (const int id : stored) {
    const std::string& name = ir.tensors[static_cast<std::size_t>(id)].name;
    out.line(fmt::format("const ks::output {0}(ks_base + ks_at_{0}, ks_bytes_{0});", name));
  }
}

void write_host(source_writer& out, const tensor_ir& ir, const std::vector<assembled_group>& groups) {
  std::set<int> stored;
  for (const assembled_group& group : groups) stored.insert(group.code.stored.begin(), group.code.stored.end());
  for (const char* header : {"\"kernsmith_opencl.h\"", "<cstdint>", "<vector>"}) out.line(fmt::format("#include {}", header));
  out.line("");
  if (!stored.empty()) write_workspace(out);
  out.open("extern \"C\" int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx)");
  out.line("(void)n_in, (void)n_out;");
  for (std::size_t a = 0; a < ir.axes.size(); ++a)
    out.line(fmt::format("[[maybe_unused]] const int64_t {} = ctx->axes[{}];", ir.axes[a].name, a));
  write_tensors(out, ir, stored);
  out.line("ks::commands ks_commands;");
  for (const assembled_group& group : groups) out.lines(group.code.call);
  out.line("return ks_commands.finish();");
  out.close();
}

}  // namespace

tensor_ir with_device_names(const tensor_ir& ir) {
  tensor_ir named = ir;
  for (axis& a : named.axes) a.name = device_name(a.name);
  for (tensor_declaration& t : named.tensors) t.name = device_name(t.name);
  for (statement& s : named.statements)
    for (index_variable& v : s.variables) v.name = device_name(v.name);
  return named;
}

std::string kernel_head(const std::string& name, std::int64_t group, const tensor_ir& ir, const function_parameters& parameters,
                        const std::vector<int>& statements) {
  std::string text;
  for (const int id : parameters.tensors) {
    const tensor_declaration& tensor = ir.tensors[static_cast<std::size_t>(id)];
    const bool written =
        std::any_of(statements.begin(), statements.end(), [&](int s) { return ir.statements[static_cast<std::size_t>(s)].target == id; });
    text += fmt::format("{}__global {}{}* restrict {}", text.empty() ? "" : ", ", written ? "" : "const ",
                        vector_c::c_storage_type(tensor.type), tensor.name);
  }
  for (const int id : parameters.axes)
    text += fmt::format("{}const ks_ix {}", text.empty() ? "" : ", ", ir.axes[static_cast<std::size_t>(id)].name);
  return fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void {}({})", group, name, text);
}

std::string assemble_opencl_source(const std::string& problem_name, const tensor_ir& ir, const std::vector<assembled_group>& groups) {
  source_writer out;
  vector_c::write_c_heading(out, problem_name, "opencl/cpu", ir, groups);
  std::string functions;
  for (const assembled_group& group : groups) functions += group.code.functions + "\n";
  out.line("#ifdef __OPENCL_VERSION__");
  out.line("");
  out.lines(opencl_prelude_text(functions));
  out.line("");
  out.lines(functions);
  out.line("#else");
  out.line("");
  write_host(out, ir, groups);
  out.line("");
  out.line("#endif");
  return out.text();
}

}  // namespace kernsmith::agents::opencl
