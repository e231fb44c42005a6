#include "backends/hip/toolchain.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "backends/cpp/build_cache.hpp"
#include "backends/cpp/machine_code.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/harness/find_tool.hpp"
#include "backends/harness/kernel_header.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/hip/code_object.hpp"
#include "config/hash.hpp"
#include "config/text.hpp"

namespace kernsmith::hip {

namespace fs = std::filesystem;

namespace {

constexpr double version_timeout_s = 20, probe_timeout_s = 60;
constexpr int max_compiler_processes = 64;
constexpr std::int64_t max_build_memory_bytes = std::int64_t{8} << 30;
constexpr std::int64_t build_tmpfs_bytes = std::int64_t{1} << 30;
/// Raised when what the compiler is asked for changes in a way that the flags below don't show.
constexpr std::string_view recipe = "hip 1";
constexpr std::string_view exports_map = "{ global: launch; local: *; };\n";
constexpr const char* rocm_prefix = "/opt/rocm";
constexpr const char* remedy = "install it (Debian: apt-get install hipcc; scripts/setup --with hip), or name it in KERNSMITH_HIPCC";

const std::vector<std::string> compile_flags = {
    "-x", "hip", "-std=c++17", "-O3", "-fPIC", "-shared", "-Wl,--version-script=/build/exports.map", "-Wl,-z,now"};
constexpr std::string_view probe_source =
    "#include \"kernsmith_kernel.h\"\n"
    "#include <hip/hip_runtime.h>\n"
    "__global__ void nothing() {}\n"
    "extern \"C\" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) { return int(hipGetLastError()); }\n";

bool runs(const fs::path& path) {
  std::error_code failed;
  return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, failed);
}

std::optional<std::string> setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<fs::path> find_hipcc() {
  if (const auto set = setting("KERNSMITH_HIPCC")) {
    std::error_code failed;
    const fs::path given = fs::absolute(*set, failed);
    return runs(given) ? std::optional(given) : std::nullopt;
  }
  if (const auto found = harness::find_tool("hipcc")) return found;
  const fs::path usual = fs::path(rocm_prefix) / "bin/hipcc";
  return runs(usual) ? std::optional(usual) : std::nullopt;
}

harness::sandbox_spec compiler_sandbox(const fs::path& program) {
  harness::sandbox_spec spec;
  spec.command = {program.string()};
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed), prefix = real.parent_path().parent_path();
  if (!failed && !real.string().starts_with("/usr/") && prefix != "/") spec.read_only.push_back(prefix);
  if (fs::is_directory(rocm_prefix, failed) && prefix != fs::canonical(rocm_prefix, failed)) spec.read_only.emplace_back(rocm_prefix);
  spec.environment = {{"PATH", program.parent_path().string() + ":/usr/local/bin:/usr/bin:/bin"},
                      {"HIP_PLATFORM", "amd"},
                      {"LC_ALL", "C"},
                      {"HOME", "/tmp"},
                      {"TMPDIR", "/tmp"},
                      {"SOURCE_DATE_EPOCH", "0"}};
  spec.tmpfs_bytes = build_tmpfs_bytes;
  spec.memory_limit_bytes = max_build_memory_bytes;
  spec.max_file_bytes = static_cast<std::int64_t>(cpp::max_library_bytes);
  spec.max_processes = max_compiler_processes;
  return spec;
}

/// "HIP 5.2.21153-0" from the line "HIP version: 5.2.21153-0".
std::string short_version(const std::string& banner) {
  constexpr std::string_view label = "HIP version: ";
  const std::size_t at = banner.find(label);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + label.size();
  return "HIP " + banner.substr(begin, banner.find_first_of("\r\n ", begin) - begin);
}

/// The line that a person wants to read: the first error, without the sandbox's folder.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") == std::string::npos && line.find("undefined") == std::string::npos) continue;
    first = line;
    break;
  }
  for (std::size_t at = 0; (at = first.find("/build/")) != std::string::npos;) first.erase(at, std::string_view("/build/").size());
  return first;
}

}  // namespace

result<fs::path> find_headers() {
  std::vector<fs::path> places;
  if (const auto set = setting("KERNSMITH_HIP_HEADERS")) {
    places = {*set};
  } else {
    if (const auto rocm = setting("ROCM_PATH")) places.push_back(fs::path(*rocm) / "include");
    places.push_back(fs::path(rocm_prefix) / "include");
    places.emplace_back("/usr/include");
  }
  std::error_code failed;
  std::string looked;
  for (const fs::path& place : places) {
    looked += (looked.empty() ? "" : ", ") + place.string();
    if (fs::exists(place / "hip/hip_runtime.h", failed) && fs::exists(place / "hip/nvidia_detail/nvidia_hip_runtime.h", failed))
      return fs::absolute(place, failed);
  }
  return fail(fault::missing_here,
              fmt::format("target hip needs HIP's headers (hip/hip_runtime.h with hip/nvidia_detail), which are not in {}; install them "
                          "(Debian: apt-get install libamdhip64-dev; scripts/setup --with hip), or name their folder in "
                          "KERNSMITH_HIP_HEADERS",
                          looked));
}

result<toolchain> toolchain::discover(const fs::path& cache, const std::string& architecture) {
  const auto program = find_hipcc();
  if (!program) return fail(fault::missing_here, fmt::format("building for {} needs hipcc, which is not here; {}", architecture, remedy));
  auto folders = cpp::build_cache::open(cache);
  if (!folders) return tl::unexpected(folders.error());
  toolchain made;
  made.program_ = *program;
  made.cache_ = folders->root();
  made.architecture_ = architecture;
  auto spec = compiler_sandbox(made.program_);
  // With an architecture given, it doesn't look for devices.
  spec.command.insert(spec.command.end(), {"--offload-arch=" + architecture, "--version"});
  auto asked = harness::run_sandboxed(spec, version_timeout_s);
  if (!asked) return tl::unexpected(asked.error());
  made.version_ = short_version(asked->output);
  if (asked->exit_status != 0 || made.version_.empty())
    return fail(fault::missing_here, fmt::format("{} does not run in the sandbox: {}", made.program_.string(), asked->output));
  made.identity_ = made.program_.string() + '\n' + asked->output;
  auto probe = made.build(std::string(probe_source), probe_timeout_s);
  if (!probe) return tl::unexpected(probe.error());
  if (!probe->outcome.empty()) {
    return fail(fault::missing_here,
                fmt::format("{} ({}) can't build for {}: {}", made.program_.string(), made.version_, architecture, probe->detail));
  }
  return made;
}

result<built_kernel> toolchain::build(const std::string& source, double timeout_s) const {
  built_kernel kernel;
  if (source.size() > cpp::max_source_bytes || source.find('\0') != std::string::npos || !is_valid_utf8(source)) {
    kernel.outcome = "build_failed";
    kernel.detail = fmt::format("the source is not UTF-8 text of at most {} bytes", cpp::max_source_bytes);
    return kernel;
  }
  std::vector<std::string> arguments = compile_flags;
  for (const std::string& argument : {"--offload-arch=" + architecture_, std::string("-I/build"), std::string("/build/kernel.hip"),
                                      std::string("-o"), std::string("/build/kernel.so")})
    arguments.push_back(argument);
  const cpp::build_cache cache(cache_);
  const std::string key = content_hash(
      fmt::format("{}\x1e{}\x1e{}\x1e{}\x1e{}", recipe, identity_, fmt::join(arguments, "\n"), harness::kernel_header_text(), source));
  if (auto known = cache.find(key)) return std::move(*known);
  auto work = cache.make_work_folder();
  if (!work) return tl::unexpected(work.error());
  auto built = compile(arguments, source, key, timeout_s, *work);
  std::error_code ignored;
  fs::remove_all(*work, ignored);
  return built;
}

/// Runs the compiler in `work`, which appears as /build, and keeps what came of it.
result<built_kernel> toolchain::compile(const std::vector<std::string>& arguments, const std::string& source, const std::string& key,
                                        double timeout_s, const fs::path& work) const {
  const fs::path build = work / "build";
  std::error_code failed;
  if (!fs::create_directory(build, failed))
    return fail(fault::infrastructure, fmt::format("making {}: {}", build.string(), failed.message()));
  for (const auto& [name, text] : {std::pair<const char*, std::string_view>{"kernel.hip", source},
                                   {"kernsmith_kernel.h", harness::kernel_header_text()},
                                   {"exports.map", exports_map}}) {
    if (auto written = cpp::write_file(build / name, text); !written) return tl::unexpected(written.error());
  }
  auto spec = compiler_sandbox(program_);
  spec.writable = {{build, "/build"}};
  spec.command.insert(spec.command.end(), arguments.begin(), arguments.end());
  auto ran = harness::run_sandboxed(spec, timeout_s);
  if (!ran) return tl::unexpected(ran.error());
  built_kernel kernel;
  kernel.build_s = ran->wall_s;
  kernel.log = ran->output;
  if (ran->timed_out) {
    kernel.outcome = "build_timeout";
    kernel.detail = fmt::format("the compiler ran for more than {} s", timeout_s);
    return kernel;  // depends on the machine's load: asked again, it is tried again
  }
  if (ran->memory_exceeded || ran->processes_exceeded) {
    kernel.outcome = "resource_limit";
    kernel.detail =
        fmt::format("the compiler used more than {} MiB of memory or {} processes", max_build_memory_bytes >> 20, max_compiler_processes);
    return kernel;
  }
  std::string library;
  if (ran->exit_status != 0) {
    kernel.outcome = "build_failed";
    kernel.detail = first_error(ran->output);
  } else {
    auto bytes = cpp::read_library(build / "kernel.so");
    if (!bytes) return tl::unexpected(bytes.error());
    library = std::move(*bytes);
    if (auto examined = examine(library, kernel); !examined) return tl::unexpected(examined.error());
    if (!kernel.outcome.empty()) library.clear();
  }
  if (auto kept = cpp::build_cache(cache_).keep(key, work, library, kernel); !kept) return tl::unexpected(kept.error());
  return kernel;
}

result<void> toolchain::examine(const std::string& library, built_kernel& kernel) const {
  auto host = cpp::inspect_library(library);
  if (!host) return tl::unexpected(host.error());
  if (!host->exports_launch) {
    kernel.outcome = "build_failed";
    kernel.detail = "the source defines no function `launch` with C linkage";
    return {};
  }
  const auto object = find_code_object(library, architecture_);
  if (object && object->empty()) {
    kernel.machine_code = host->machine_code;
    return {};
  }
  const auto kernels = object ? read_resources(*object) : tl::unexpected(object.error());
  if (!kernels) {
    kernel.outcome = "build_failed";
    kernel.detail = kernels.error().message;
    return {};
  }
  kernel.machine_code = content_hash(*object);
  kernel.log += (kernel.log.empty() || kernel.log.ends_with('\n') ? "" : "\n") + report_of(architecture_, *kernels);
  const device_limits* limits = limits_of(architecture_);
  for (const kernel_resources& k : *kernels) {
    const std::string over = limits != nullptr ? over_limit(k, *limits) : "";
    if (over.empty()) continue;
    kernel.outcome = "resource_limit";
    kernel.detail = fmt::format("kernel {} wants {}", k.name, over);
    return {};
  }
  return {};
}

}  // namespace kernsmith::hip
