#include "backends/pytorch/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/cpp/build_cache.hpp"
#include "backends/cpp/machine_code.hpp"
#include "backends/harness/find_runner.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/pytorch/hosting.hpp"
#include "config/text.hpp"

namespace kernsmith::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view candidate_name = "candidate.py";
/// What a first call on new shapes may take where compilers run then (Triton, inline extensions).
constexpr double compile_allowance_s = 120;
/// Sources with one of these start compilers; only their processes may start others.
constexpr std::array<std::string_view, 7> compiling = {"triton", "cpp_extension", "torch.compile", "cutlass", "flydsl", "tlx", "tilelang"};
/// Where compilers of kernels leave what they make.
constexpr std::array<std::string_view, 3> compiled_folders = {"/tmp/triton/", "/tmp/extensions/", "/tmp/inductor/"};

bool compiles(const std::string& source) {
  return std::any_of(compiling.begin(), compiling.end(), [&](std::string_view word) { return source.find(word) != std::string::npos; });
}

/// Packages by what people call them.
std::string known_as(const std::string& package) {
  if (package == "cutlass") return "cutlass (CuTe DSL: pip install nvidia-cutlass-dsl)";
  if (package == "triton") return "triton (pip install triton)";
  if (package == "flydsl") return "flydsl (FlyDSL)";
  if (package == "tlx") return "tlx (Triton's low-level extensions, a build of Triton of its own)";
  return package;
}

}  // namespace

std::string python_candidates::compiler() const {
  std::string text = fmt::format("PyTorch {}, Python {}", python_.packages.at("torch"), python_.version);
  if (python_.has("triton")) text += fmt::format(", Triton {}{}", python_.packages.at("triton"), interprets_ ? " (interpreter)" : "");
  return text;
}

result<harness::built_kernel> python_candidates::build(const std::string& source, double timeout_s) const {
  harness::built_kernel kernel;
  if (source.size() > cpp::max_source_bytes || source.find('\0') != std::string::npos || !is_valid_utf8(source)) {
    kernel.outcome = "build_failed";
    kernel.detail = fmt::format("the source is not UTF-8 text of at most {} bytes", cpp::max_source_bytes);
    return kernel;
  }
  auto cache = cpp::build_cache::open(cache_);
  if (!cache) return tl::unexpected(cache.error());
  auto work = cache->make_work_folder();
  if (!work) return tl::unexpected(work.error());
  harness::sandbox_spec spec = python_sandbox(python_);
  spec.command.insert(spec.command.end(), {"-B", "-c", examining_program(), "/build/candidate.py"});
  std::error_code ignored;
  fs::create_directory(*work / "build", ignored);
  auto written = cpp::write_file(*work / "build" / candidate_name, source);
  if (written && problem_.module) {
    written = cpp::write_file(*work / "build" / "module.py", problem_.module->source.text);
    spec.command.emplace_back("/build/module.py");
  }
  if (!written) return tl::unexpected(written.error());
  spec.writable = {{*work / "build", "/build"}};
  auto ran = harness::run_sandboxed(spec, timeout_s);
  fs::remove_all(*work, ignored);
  if (!ran) return tl::unexpected(ran.error());
  const auto told = nlohmann::json::parse(ran->output, nullptr, false);
  if (ran->exit_status != 0 || !told.is_object()) {
    kernel.outcome = ran->timed_out ? "build_timeout" : "build_failed";
    kernel.detail = ran->timed_out ? "the source could not be parsed in time" : "the source could not be parsed";
    kernel.log = ran->output;
    return kernel;
  }
  if (const std::string wrong = told.value("error", ""); !wrong.empty()) {
    kernel.outcome = "build_failed";
    kernel.detail = wrong;
    return kernel;
  }
  std::string missing;
  for (const auto& package : told.value("missing", std::vector<std::string>()))
    missing += (missing.empty() ? "" : ", ") + known_as(package);
  if (!missing.empty()) {
    kernel.outcome = "refused";
    kernel.detail = fmt::format("it imports what {} does not have: {}", python_.program.string(), missing);
    return kernel;
  }
  hosted_source hosted;
  hosted.name = candidate_name;
  hosted.text = source;
  hosted.on_device = on_device_;
  hosted.init_source = told.value("init_source", "");
  return keep_document(cache_, python_, hosted_document(problem_, hosted));
}

void python_candidates::prepare(harness::runner_options& options) const {
  if (options.trusted || !is_document(options.library)) return;
  host_with(python_, options);
  if (interprets_) options.environment.emplace_back("TRITON_INTERPRET", "1");
  std::string text;
  if (auto bytes = cpp::read_library(options.library)) text = std::move(*bytes);
  if (interprets_ && text.find("cpp_extension") == std::string::npos) return;
  if (!compiles(text)) return;
  options.may_fork = true;
  options.new_set_allowance_s = compile_allowance_s;
  for (const char* cuda : {"/usr/local/cuda"}) {
    std::error_code failed;
    if (on_device_ && fs::is_directory(cuda, failed)) options.environment.emplace_back("CUDA_HOME", cuda);
  }
}

bool python_candidates::may_execute(const fs::path& file) const {
  const std::string path = file.string();
  const auto below = [&](const std::string& folder) { return path.starts_with(folder + "/"); };
  if (path.starts_with("/tmp") || path.starts_with("/dev"))
    return std::any_of(compiled_folders.begin(), compiled_folders.end(), [&](std::string_view folder) { return path.starts_with(folder); });
  if (below("/usr") || below("/lib") || below("/lib64") || file.filename() == "kernsmith-runner.so") return true;
  return std::any_of(python_.folders.begin(), python_.folders.end(), [&](const fs::path& folder) { return below(folder.string()); });
}

}  // namespace kernsmith::pytorch
