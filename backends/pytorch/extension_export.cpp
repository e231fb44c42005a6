// A verified kernel as a package that setup.py builds: an operator for PyTorch's dispatcher, and the module that calls the kernel.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/harness/kernel_header.hpp"
#include "backends/pytorch/export_parts.hpp"

namespace kernsmith::pytorch {

namespace {

/// Where the extent of an axis can be read: "x.size(1)". Nothing for an axis of outputs only.
std::optional<std::string> extent_in_inputs(const problem& p, int axis) {
  for (const int id : p.inputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(id)];
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      if (t.shape[d].axis == axis) return fmt::format("{}.size({})", t.name, d);
  }
  return std::nullopt;
}

/// By ks_dtype's number.
constexpr const char* scalar_types[] = {"at::kDouble",        "at::kFloat",       "at::kHalf", "at::kBFloat16",
                                        "at::kFloat8_e4m3fn", "at::kFloat8_e5m2", "at::kLong", "at::kInt",
                                        "at::kShort",         "at::kChar",        "at::kByte", "at::kBool"};

std::string binding_text(const problem& p, const verified_solution& s, const std::vector<std::string>& extents) {
  const bool device = on_device(s);
  std::string schema, parameters, checks, inputs, outputs, results, axes;
  for (const int id : p.inputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(id)];
    const auto code = static_cast<std::size_t>(t.type);
    schema += fmt::format("{}Tensor {}", schema.empty() ? "" : ", ", t.name);
    parameters += fmt::format("{}const at::Tensor& {}", parameters.empty() ? "" : ", ", t.name);
    checks += fmt::format("  check({}, {}, {}, \"{}\");\n", t.name, scalar_types[code], t.shape.size(), t.name);
    inputs += fmt::format("described({}, {}), ", t.name, code);
  }
  std::size_t count = 0;
  for (const int id : p.outputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(id)];
    const auto code = static_cast<std::size_t>(t.type);
    std::string shape;
    for (const dim& d : t.shape) shape += fmt::format("{}, ", d.axis >= 0 ? fmt::format("axes[{}]", d.axis) : std::to_string(d.constant));
    outputs += fmt::format("  at::Tensor {} = at::empty({{{}}}, {}.options().dtype({}));\n", t.name, shape,
                           p.tensors[static_cast<std::size_t>(p.inputs().front())].name, scalar_types[code]);
    results += fmt::format("{}{}", count++ == 0 ? "" : ", ", t.name);
  }
  std::string described_outputs;
  for (const int id : p.outputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(id)];
    described_outputs += fmt::format("described({}, {}), ", t.name, static_cast<int>(t.type));
  }
  for (const std::string& extent : extents) axes += extent + ", ";
  const bool one = p.outputs().size() == 1;
  std::string returned = one ? "Tensor" : "";
  for (std::size_t o = 0; !one && o < p.outputs().size(); ++o) returned += o == 0 ? "Tensor" : ", Tensor";
  std::string cpp_type = one ? "at::Tensor" : "std::tuple<";
  for (std::size_t o = 0; !one && o < p.outputs().size(); ++o) cpp_type += o == 0 ? "at::Tensor" : ", at::Tensor";
  if (!one) cpp_type += ">";
  std::string text = "// The kernel as torch.ops." + p.name +
                     ".run; written by Kernsmith.\n#include <Python.h>\n\n#include <ATen/ATen.h>\n#include <ATen/Parallel.h>\n#include "
                     "<torch/library.h>\n\n";
  if (device) text += "#include <c10/cuda/CUDAGuard.h>\n#include <c10/cuda/CUDAStream.h>\n\n";
  text +=
      "#include \"kernsmith_kernel.h\"\n\nextern \"C\" int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* "
      "ctx);\n\nnamespace {\n\n";
  text +=
      "ks_tensor described(const at::Tensor& t, int dtype) {\n  return {t.data_ptr(), dtype, static_cast<int32_t>(t.dim()), "
      "t.sizes().data(), t.strides().data()};\n}\n\n";
  text += fmt::format(
      "void check(const at::Tensor& t, at::ScalarType type, int64_t rank, const char* name) {{\n"
      "  TORCH_CHECK(t.scalar_type() == type && t.dim() == rank && t.is_contiguous() && t.device().type() == at::k{},\n"
      "              \"'\", name, \"' must be a contiguous tensor of the kernel's type, rank and device\");\n}}\n\n",
      device ? "CUDA" : "CPU");
  text += fmt::format("{} run({}) {{\n{}", cpp_type, parameters, checks);
  const std::string first = p.tensors[static_cast<std::size_t>(p.inputs().front())].name;
  if (device) text += fmt::format("  const c10::cuda::CUDAGuard guard({}.device());\n", first);
  text += fmt::format("  const int64_t axes[] = {{{}}};\n{}", axes, outputs);
  text += fmt::format("  const ks_tensor in[] = {{{}}};\n  ks_tensor out[] = {{{}}};\n", inputs, described_outputs);
  text += fmt::format("  const at::Tensor workspace = at::empty({{64 << 20}}, {}.options().dtype(at::kByte));\n", first);
  text += fmt::format("  ks_launch ctx{{{}, workspace.data_ptr(), 64 << 20, {}, at::get_num_threads(), axes, {}}};\n",
                      device ? "c10::cuda::getCurrentCUDAStream().stream()" : "nullptr",
                      device ? "static_cast<int32_t>(" + first + ".get_device())" : "0", extents.size());
  text += fmt::format("  TORCH_CHECK(launch(in, {}, out, {}, &ctx) == 0, \"the kernel does not take these shapes\");\n  return {};\n}}\n\n",
                      p.inputs().size(), p.outputs().size(), one ? results : "{" + results + "}");
  text += fmt::format("}}  // namespace\n\nTORCH_LIBRARY({}, m) {{\n  m.def(\"run({}) -> {}\");\n}}\n\n", p.name, schema,
                      one ? returned : "(" + returned + ")");
  text += fmt::format(
      "TORCH_LIBRARY_IMPL({}, {}, m) {{\n  m.impl(\"run\", run);\n}}\n\n"
      "// Importing the module is what loads the "
      "operator.\nPyMODINIT_FUNC PyInit__C() {{\n"
      "  static PyModuleDef module{{PyModuleDef_HEAD_INIT, \"_C\", nullptr, -1, nullptr}};\n  "
      "return PyModule_Create(&module);\n}}\n",
      p.name, device ? "CUDA" : "CPU");
  return text;
}

std::string setup_text(const problem& p, const verified_solution& s) {
  const bool device = on_device(s);
  std::vector<std::string> flags;
  for (const std::string& flag : flags_of(s))
    if (flag != "-shared" && flag != "-cudart" && flag != "static") flags.push_back(flag);
  const std::string arguments = device ? fmt::format("{{\"cxx\": [\"-O3\"], \"nvcc\": {}}}", strings(flags)) : strings(flags);
  std::vector<std::string> libraries = p.libraries;
  return fmt::format(
      "\"\"\"Builds and installs {0}: pip install --no-build-isolation .\"\"\"\nfrom setuptools import setup\n"
      "from torch.utils.cpp_extension import BuildExtension, {1}\n\nsetup(\n    name=\"{0}\",\n    version=\"1.0\",\n    "
      "packages=[\"{0}\"],\n"
      "    ext_modules=[{1}(\"{0}._C\", [\"csrc/kernel.{2}\", \"csrc/binding.cpp\"], extra_compile_args={3}, extra_link_args=[{4}],\n"
      "        libraries={5})],\n    cmdclass={{\"build_ext\": BuildExtension}},\n)\n",
      p.name, device ? "CUDAExtension" : "CppExtension", device ? "cu" : "cpp", arguments, device ? "" : "\"-fopenmp\"",
      strings(libraries));
}

}  // namespace

result<std::vector<exported_file>> export_extension(const problem& p, const verified_solution& s) {
  if (auto possible = check_exportable(p, s); !possible) return tl::unexpected(possible.error());
  std::vector<std::string> extents;
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    const auto extent = extent_in_inputs(p, static_cast<int>(a));
    if (!extent)
      return fail(fault::bad_request,
                  fmt::format("axis {} stands in no input's shape, so that an operator can't know it; --format modelnew "
                              "works",
                              p.axes[a].name));
    extents.push_back(*extent);
  }
  if (p.name.find('-') != std::string::npos)
    return fail(fault::bad_request, fmt::format("a package can't be called '{}'; rename the problem without '-'", p.name));
  const std::string prebuilt = "__import__(\"importlib\").import_module(__name__ + \"._C\").__file__";
  return std::vector<exported_file>{{"setup.py", setup_text(p, s)},
                                    {p.name + "/__init__.py", module_text(p, s, prebuilt)},
                                    {on_device(s) ? "csrc/kernel.cu" : "csrc/kernel.cpp", s.source},
                                    {"csrc/kernsmith_kernel.h", std::string(harness::kernel_header_text())},
                                    {"csrc/binding.cpp", binding_text(p, s, extents)}};
}

}  // namespace kernsmith::pytorch
