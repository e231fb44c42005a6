#include "backends/pytorch/solution_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/harness/kernel_header.hpp"
#include "backends/pytorch/export_parts.hpp"
#include "backends/pytorch/export_texts.hpp"

namespace kernsmith::pytorch {

result<std::vector<exported_file>> export_module(const problem& p, const verified_solution& solution) {
  if (auto possible = check_exportable(p, solution); !possible) return tl::unexpected(possible.error());
  return std::vector<exported_file>{{p.name + ".py", module_text(p, solution, "None")}};
}

result<std::vector<exported_file>> export_source(const problem& p, const verified_solution& s) {
  const std::string suffix = file_suffix_of(s.language);
  std::string page = fmt::format("# {}\n\nA kernel verified by Kernsmith {} for problem {} ({}), target {}.\n\nMeasured on {}{}.\n\n",
                                 p.name, KERNSMITH_VERSION, p.name, p.hash.substr(0, 12), s.target, s.measured_on,
                                 s.baseline.empty() ? "" : ", against " + s.baseline);
  if (s.language == "cpp" || s.language == "cuda") {
    page += fmt::format("    {} {} -I. kernel.{} -o kernel.so{}\n\n", on_device(s) ? "nvcc" : "g++", fmt::join(flags_of(s), " "), suffix,
                        p.libraries.empty() ? "" : fmt::format(" {}", fmt::join(libraries_of(p), " ")));
    page += "`launch` in the shared object takes the inputs and outputs below, in this order, as `kernsmith_kernel.h` says.\n\n";
  }
  page += "| tensor | | dtype | shape |\n| --- | --- | --- | --- |\n";
  for (const tensor_declaration& t : p.tensors) {
    if (t.role == tensor_role::intermediate) continue;
    std::string shape;
    for (const dim& d : t.shape)
      shape += (shape.empty() ? "" : " x ") + (d.axis >= 0 ? p.axes[static_cast<std::size_t>(d.axis)].name : std::to_string(d.constant));
    page += fmt::format("| {} | {} | {} | {} |\n", t.name, t.role == tensor_role::input ? "input" : "output", name_of(t.type), shape);
  }
  page += fmt::format("\n`axes` are {}.\n", [&] {
    std::vector<std::string> names;
    for (const axis& a : p.axes) names.push_back(a.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }());
  return std::vector<exported_file>{
      {"kernel." + suffix, s.source}, {"kernsmith_kernel.h", std::string(harness::kernel_header_text())}, {"README.md", page}};
}

result<std::vector<exported_file>> export_flashinfer(const problem& p, const verified_solution& s) {
  if (s.language != "cpp" && s.language != "cuda")
    return fail(fault::bad_request,
                fmt::format("a kernel in {} can't be exported as a FlashInfer solution; C++ and CUDA kernels can", s.language));
  std::string names, inputs, outputs;
  for (const tensor_declaration& t : p.tensors) {
    if (t.role == tensor_role::intermediate) continue;
    names += (names.empty() ? "" : ", ") + t.name;
    (t.role == tensor_role::input ? inputs : outputs) += t.name + ", ";
  }
  std::string main = fmt::format("# {}: verified by Kernsmith {} on target {}.\n", p.name, KERNSMITH_VERSION, s.target);
  const std::string& generic = exported_kernel_text();
  const std::size_t after_imports = generic.find("\n\nclass ");
  main += fmt::format("{}\n\n_KS_PREBUILT = None\n_KS_LANGUAGE = \"{}\"\n_KS_CAPABILITY = {}\n_KS_FLAGS = {}\n_KS_LIBRARIES = {}\n",
                      generic.substr(0, after_imports), s.language, capability_of(s), strings(flags_of(s)), strings(libraries_of(p)));
  main += fmt::format("_KS_INPUT_DTYPES = {}\n_KS_OUTPUT_DTYPES = {}\n", dtypes_of(p, p.inputs()), dtypes_of(p, p.outputs()));
  main += fmt::format("_KS_HEADER = {}\n\n_KS_SOURCE = {}\n{}", literal(std::string(harness::kernel_header_text())), literal(s.source),
                      generic.substr(after_imports));
  std::string axes;
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    for (const tensor_declaration& t : p.tensors) {
      const auto d = std::find_if(t.shape.begin(), t.shape.end(), [&](const dim& x) { return x.axis == static_cast<int>(a); });
      if (t.role == tensor_role::intermediate || d == t.shape.end()) continue;
      axes += fmt::format("{}.shape[{}], ", t.name, d - t.shape.begin());
      break;
    }
  }
  main += fmt::format(
      "\n\ndef run({}):\n    tensors, outputs = [{}], [{}]\n    workload = {{\"axes\": ({}), \"inputs\": tuple(t.shape for t in tensors),"
      " \"outputs\": tuple(t.shape for t in outputs)}}\n    if _ks_call(tensors, workload[\"inputs\"], workload, outputs) is None:\n"
      "        raise RuntimeError(\"the kernel does not take these tensors\")\n",
      names, inputs, outputs, axes);
  const nlohmann::json document = {{"name", fmt::format("{}_kernsmith{}", p.name, s.candidate.empty() ? "" : "_" + s.candidate)},
                                   {"definition", p.name},
                                   {"author", "kernsmith"},
                                   {"description", fmt::format("verified on {}", s.measured_on)},
                                   {"spec",
                                    {{"language", "python"},
                                     {"target_hardware", {s.target}},
                                     {"entry_point", "main.py::run"},
                                     {"dependencies", {"torch"}},
                                     {"destination_passing_style", true},
                                     {"binding", nullptr}}},
                                   {"sources", {{{"path", "main.py"}, {"content", main}}}}};
  return std::vector<exported_file>{{"solution.json", document.dump(2) + "\n"}};
}

}  // namespace kernsmith::pytorch
