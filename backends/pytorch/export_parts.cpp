#include "backends/pytorch/export_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "backends/harness/kernel_header.hpp"
#include "backends/pytorch/export_texts.hpp"

namespace kernsmith::pytorch {

namespace {

/// By kernsmith's dtype: ks_dtype's number and PyTorch's name.
constexpr std::array<std::string_view, 12> torch_types = {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
                                                          "int64",   "int32",   "int16",   "int8",     "uint8",         "bool"};

const tensor_declaration& tensor_at(const problem& p, int id) {
  return p.tensors[static_cast<std::size_t>(id)];
}

std::string tuple_of(const std::vector<std::int64_t>& extents) {
  return fmt::format("({}{})", fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
}

std::string shapes_of(const problem& p, const std::vector<int>& tensors, const std::vector<std::int64_t>& axes) {
  std::string text = "(";
  for (const int id : tensors) text += tuple_of(shape_of(tensor_at(p, id), axes)) + ",";
  return text + ")";
}

/// "sm_90a" of "cuda/sm_90a".
std::string architecture_of(const verified_solution& s) {
  return s.target.substr(s.target.find('/') + 1);
}

bool worth_calling(const exported_workload& w) {
  return w.faster && w.kernel_ns + dispatch_ns < w.module_ns;
}

std::string workload_table(const problem& p, const verified_solution& s) {
  std::string text = "_KS_WORKLOADS = {\n";
  for (const exported_workload& w : s.workloads) {
    std::string named;
    for (std::size_t a = 0; a < p.axes.size(); ++a) named += fmt::format("{}{}={}", a == 0 ? "" : " ", p.axes[a].name, w.axes[a]);
    const double ratio = w.kernel_ns > 0 ? w.module_ns / w.kernel_ns : 0;
    if (!worth_calling(w)) {
      text += fmt::format("    # {}: {:.2f}x; Model's own forward is taken\n", named, ratio);
      continue;
    }
    const std::string inputs = shapes_of(p, p.inputs(), w.axes);
    text += fmt::format("    # {}: {:.1f} us, the module {:.1f} us: {:.2f}x\n", named, w.kernel_ns / 1e3, w.module_ns / 1e3, ratio);
    text += fmt::format("    {}:\n        {{\"axes\": {}, \"inputs\": {},\n         \"outputs\": {}}},\n", inputs, tuple_of(w.axes), inputs,
                        shapes_of(p, p.outputs(), w.axes));
  }
  return text + "}\n";
}

int place_of(const problem& p, const std::vector<int>& among, const std::string& name) {
  return static_cast<int>(std::find_if(among.begin(), among.end(), [&](int id) { return tensor_at(p, id).name == name; }) - among.begin());
}

/// What the generic part below needs to know.
std::string facts(const problem& p, const verified_solution& s) {
  const module_spec& m = *p.module;
  std::string arguments, parameters, results;
  for (const module_argument& a : m.arguments) {
    if (!a.input.empty())
      arguments += fmt::format("({}, None), ", place_of(p, p.inputs(), a.input));
    else
      arguments += a.is_integer ? fmt::format("(None, {}), ", static_cast<std::int64_t>(a.number))
                                : fmt::format("(None, {}), ", nlohmann::json(a.number).dump());
  }
  for (const auto& [input, key] : m.parameters)
    parameters += fmt::format("({}, {}), ", place_of(p, p.inputs(), input), nlohmann::json(key).dump());
  for (const std::string& output : m.outputs) results += fmt::format("{}, ", place_of(p, p.outputs(), output));
  const bool reads_mode = m.source.text.find("self.training") != std::string::npos;
  std::string text;
  text += fmt::format("_KS_LANGUAGE = \"{}\"\n_KS_CAPABILITY = {}\n_KS_FLAGS = {}\n_KS_LIBRARIES = {}\n", s.language, capability_of(s),
                      strings(flags_of(s)), strings(libraries_of(p)));
  text += fmt::format("_KS_ARGUMENTS = ({})  # of forward: which input, or which number\n", arguments);
  text += fmt::format("_KS_PARAMETERS = ({})  # which input is which parameter or buffer\n", parameters);
  text += fmt::format("_KS_RESULTS = ({})\n_KS_GIVES_TUPLE = {}\n_KS_READS_MODE = {}\n", results, m.outputs.size() > 1 ? "True" : "False",
                      reads_mode ? "True" : "False");
  text += fmt::format("_KS_INPUT_DTYPES = {}\n_KS_OUTPUT_DTYPES = {}\n", dtypes_of(p, p.inputs()), dtypes_of(p, p.outputs()));
  return text + workload_table(p, s) + "\n_KS_HEADER = " + literal(std::string(harness::kernel_header_text())) +
         "\n\n_KS_SOURCE = " + literal(s.source) + "\n";
}

std::string heading(const problem& p, const verified_solution& s) {
  return fmt::format(
      "# {}: a drop-in replacement for the module below, made and verified by Kernsmith {}.\n#\n# problem    {} ({})\n"
      "# kernel     {}\n# target     {}\n# measured   {}, against {}\n#\n# First the module as it was given, then the kernel, "
      "then ModelNew.\n\n",
      p.name, KERNSMITH_VERSION, p.name, p.hash.substr(0, 12), s.candidate.empty() ? "given by hand" : s.candidate, s.target, s.measured_on,
      s.baseline);
}

}  // namespace

std::string dtypes_of(const problem& p, const std::vector<int>& tensors) {
  std::string text = "(";
  for (const int id : tensors) {
    const auto code = static_cast<std::size_t>(tensor_at(p, id).type);
    text += fmt::format("({}, torch.{}), ", code, torch_types[code]);
  }
  return text + ")";
}

/// A text as a Python literal that reads like the text.
std::string literal(const std::string& text) {
  const bool plain = text.find("'''") == std::string::npos && text.find('\\') == std::string::npos && !text.ends_with('\'');
  if (plain) return "'''\\\n" + text + "'''";
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '\'') escaped += '\\';
    escaped += c;
  }
  return "'''\\\n" + escaped + "'''";
}

std::string strings(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) list += (list.size() > 1 ? ", " : "") + nlohmann::json(text).dump();
  return list + "]";
}

bool on_device(const verified_solution& s) {
  return s.language == "cuda";
}

/// As the kernel was measured.
std::vector<std::string> flags_of(const verified_solution& s) {
  if (!on_device(s)) return {"-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-fno-semantic-interposition", "-shared"};
  const std::string architecture = architecture_of(s), number = architecture.substr(architecture.find('_') + 1);
  return {"-std=c++17", "-O3",        "-lineinfo", fmt::format("-gencode=arch=compute_{},code=sm_{}", number, number), "-cudart", "static",
          "-shared",    "-Xcompiler", "-fPIC"};
}

std::vector<std::string> libraries_of(const problem& p) {
  std::vector<std::string> libraries;
  for (const std::string& library : p.libraries) libraries.push_back("-l" + library);
  return libraries;
}

/// "(9, 0)" of "sm_90a".
std::string capability_of(const verified_solution& s) {
  std::string digits;
  for (const char c : architecture_of(s))
    if (c >= '0' && c <= '9') digits += c;
  if (!on_device(s) || digits.size() < 2) return "None";
  return fmt::format("({}, {})", digits.substr(0, digits.size() - 1), digits.back());
}

result<void> check_exportable(const problem& p, const verified_solution& s) {
  if (s.language != "cpp" && s.language != "cuda")
    return fail(fault::bad_request,
                fmt::format("a kernel in {} can't be exported as a module; C++ and CUDA kernels can. --format source gives "
                            "the source as it is",
                            s.language));
  if (!p.module)
    return fail(fault::bad_request, fmt::format("{}: the problem was not made from a PyTorch module ([module]), so that there is none to "
                                                "replace; --format source gives the kernel and its header",
                                                p.path.string()));
  if (std::none_of(s.workloads.begin(), s.workloads.end(), worth_calling)) {
    return fail(
        fault::bad_request,
        fmt::format("on no workload was the kernel verified faster than the module ('{}') by more than the {:.0f} us that calling it "
                    "from Python takes: there is nothing to export",
                    s.baseline, dispatch_ns / 1e3));
  }
  return {};
}

/// The whole file. A kernel that leaves running statistics alone is said to.
std::string module_text(const problem& p, const verified_solution& s, const std::string& prebuilt) {
  const std::string& original = p.module->source.text;
  std::string text = heading(p, s);
  if (original.find("BatchNorm") != std::string::npos || original.find("track_running_stats=True") != std::string::npos)
    text +=
        "# The kernel normalises with the batch's own statistics, as a module in training mode does; where it is used, running statistics "
        "are\n# not updated.\n\n";
  text += original;
  if (!text.ends_with('\n')) text += '\n';
  const std::string& generic = exported_kernel_text();
  // The facts stand behind the imports that they use and before what uses them.
  const std::size_t after_imports = generic.find("\n\nclass ");
  return text + "\n\n" + generic.substr(0, after_imports) + "\n\n_KS_PREBUILT = " + prebuilt + "\n" + facts(p, s) +
         generic.substr(after_imports) + exported_model_text();
}

}  // namespace kernsmith::pytorch
