#include "backends/cuda/toolchain.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "backends/cpp/build_cache.hpp"
#include "backends/cpp/machine_code.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/cuda/machine_code.hpp"
#include "backends/harness/kernel_header.hpp"
#include "backends/harness/sandbox.hpp"
#include "config/hash.hpp"
#include "config/text.hpp"

namespace kernsmith::cuda {

namespace fs = std::filesystem;

namespace {

constexpr double version_timeout_s = 20;
constexpr int max_compiler_processes = 64;
constexpr std::int64_t max_build_memory_bytes = std::int64_t{8} << 30;  // heavy templates take more in nvcc than in g++
constexpr std::int64_t build_tmpfs_bytes = std::int64_t{1} << 30;
/// Raised when what the compiler is asked for changes in a way that the flags below don't show.
constexpr std::string_view recipe = "cuda 1";
constexpr std::string_view exports_map = "{ global: launch; local: *; };\n";

const std::vector<std::string> compile_flags = {"-std=c++17", "-O3", "-lineinfo"};
// --no-compress: the hash over the machine code reads what was embedded. -v: registers, spills and shared memory, for the record.
const std::vector<std::string> library_flags = {"-cudart",       "static",  "-shared",  "-Xcompiler", "-fPIC",
                                                "--no-compress", "-Xptxas", "-v",       "-Xlinker",   "--version-script=/build/exports.map",
                                                "-Xlinker",      "-z",      "-Xlinker", "now"};

std::optional<fs::path> find_nvcc() {
  const auto runs = [](const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); };
  if (const char* set = std::getenv("KERNSMITH_NVCC"); set != nullptr && *set != '\0') {
    std::error_code failed;
    const fs::path given = fs::absolute(set, failed);
    return runs(given) ? std::optional(given) : std::nullopt;
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / "nvcc";
    if (candidate.is_absolute() && runs(candidate)) return candidate;
  }
  return std::nullopt;
}

harness::sandbox_spec compiler_sandbox(const fs::path& program) {
  harness::sandbox_spec spec;
  spec.command = {program.string()};
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed), prefix = real.parent_path().parent_path();
  if (!failed && !real.string().starts_with("/usr/") && prefix != "/") spec.read_only.push_back(prefix);
  spec.environment = {{"PATH", program.parent_path().string() + ":/usr/local/bin:/usr/bin:/bin"},
                      {"LC_ALL", "C"},
                      {"HOME", "/tmp"},
                      {"TMPDIR", "/tmp"},
                      {"SOURCE_DATE_EPOCH", "0"},
                      {"CCACHE_DISABLE", "1"}};
  spec.tmpfs_bytes = build_tmpfs_bytes;
  spec.memory_limit_bytes = max_build_memory_bytes;
  spec.max_file_bytes = static_cast<std::int64_t>(cpp::max_library_bytes);
  spec.max_processes = max_compiler_processes;
  return spec;
}

/// "nvcc 13.0.88" from nvcc's banner: "Cuda compilation tools, release 13.0, V13.0.88".
std::string short_version(const std::string& banner) {
  const std::size_t at = banner.find(", V");
  if (at == std::string::npos) return {};
  return "nvcc " + banner.substr(at + 3, banner.find_first_of("\r\n ", at + 3) - at - 3);
}

/// The line that a person wants to read: the first error, without the sandbox's folder.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty() && !line.starts_with("ptxas info")) first = line;
    if (line.find("error") != std::string::npos || line.find("undefined reference") != std::string::npos ||
        line.find("undefined symbol") != std::string::npos) {
      first = line;
      break;
    }
  }
  for (std::size_t at = 0; (at = first.find("/build/")) != std::string::npos;) first.erase(at, std::string_view("/build/").size());
  return first;
}

}  // namespace

result<toolchain> toolchain::discover(const fs::path& cache, const std::string& architecture, front_end language) {
  const auto program = find_nvcc();
  if (!program) {
    return fail(
        fault::missing_here,
        "target cuda needs nvcc, the compiler of the CUDA toolkit, which is not here; install the toolkit, put nvcc on the PATH, or "
        "name it in KERNSMITH_NVCC");
  }
  auto folders = cpp::build_cache::open(cache);
  if (!folders) return tl::unexpected(folders.error());
  toolchain made;
  made.program_ = *program;
  made.cache_ = folders->root();
  auto spec = compiler_sandbox(made.program_);
  spec.command.push_back("--version");
  auto asked = harness::run_sandboxed(spec, version_timeout_s);
  if (!asked) return tl::unexpected(asked.error());
  made.version_ = short_version(asked->output);
  if (asked->exit_status != 0 || made.version_.empty())
    return fail(fault::missing_here, fmt::format("{} does not run in the sandbox: {}", made.program_.string(), asked->output));
  made.identity_ = made.program_.string() + '\n' + asked->output;
  made.language_ = std::move(language);
  made.architecture_flags_ = {fmt::format("-gencode=arch=compute_{},code={}", architecture.substr(3), architecture)};
  return made;
}

std::string toolchain::flags() const {
  return fmt::format("{} {}", fmt::join(compile_flags, " "), fmt::join(architecture_flags_, " "));
}

fs::path toolchain::library_folder() const {
  std::error_code failed;
  const fs::path prefix = fs::canonical(program_, failed).parent_path().parent_path();
  for (const char* folder : {"lib64", "targets/x86_64-linux/lib"}) {
    const fs::path found = fs::canonical(prefix / folder, failed);
    if (!failed && fs::exists(found / "libcublas.so", failed)) return found;
  }
  return {};
}

result<built_kernel> toolchain::build(const std::string& source, const std::vector<std::string>& extra_flags,
                                      const std::vector<std::string>& link_flags, double timeout_s) const {
  return build(product::library, source, extra_flags, link_flags, timeout_s);
}

result<built_kernel> toolchain::build_candidate(const std::string& source, double timeout_s,
                                                const std::vector<std::string>& link_flags) const {
  return build(product::library, source, language_.flags, link_flags, timeout_s);
}

result<built_kernel> toolchain::build_device_code(const std::string& source, double timeout_s) const {
  return build(product::device_code, source, {"-cubin"}, {}, timeout_s);
}

result<built_kernel> toolchain::build(product what, const std::string& source, const std::vector<std::string>& extra_flags,
                                      const std::vector<std::string>& link_flags, double timeout_s) const {
  built_kernel kernel;
  if (source.size() > cpp::max_source_bytes || source.find('\0') != std::string::npos || !is_valid_utf8(source)) {
    kernel.outcome = "build_failed";
    kernel.detail = fmt::format("the source is not UTF-8 text of at most {} bytes", cpp::max_source_bytes);
    return kernel;
  }
  std::vector<std::string> arguments = compile_flags;
  arguments.insert(arguments.end(), architecture_flags_.begin(), architecture_flags_.end());
  if (what == product::library) arguments.insert(arguments.end(), library_flags.begin(), library_flags.end());
  arguments.insert(arguments.end(), extra_flags.begin(), extra_flags.end());
  for (const char* argument : {"-I/build", "/build/kernel.cu", "-o", "/build/kernel.so"}) arguments.push_back(argument);
  arguments.insert(arguments.end(), link_flags.begin(), link_flags.end());
  // Not every installation of the toolkit tells the system's loader where its libraries are.
  if (const fs::path folder = library_folder(); !link_flags.empty() && !folder.empty())
    arguments.insert(arguments.end(), {"-L" + folder.string(), "-Xlinker", "-rpath=" + folder.string()});
  const cpp::build_cache cache(cache_);
  std::string headers(harness::kernel_header_text());
  for (const auto& [name, text] : language_.headers) headers += '\x1e' + name + '\x1e' + text;
  const std::string key =
      content_hash(fmt::format("{}\x1e{}\x1e{}\x1e{}\x1e{}", recipe, identity_, fmt::join(arguments, "\n"), headers, source));
  if (auto known = cache.find(key)) return std::move(*known);
  auto work = cache.make_work_folder();
  if (!work) return tl::unexpected(work.error());
  auto built = compile(what, arguments, source, key, timeout_s, *work);
  std::error_code ignored;
  fs::remove_all(*work, ignored);
  return built;
}

/// Runs the compiler in `work`, which appears as /build, and keeps what came of it.
result<built_kernel> toolchain::compile(product what, const std::vector<std::string>& arguments, const std::string& source,
                                        const std::string& key, double timeout_s, const fs::path& work) const {
  const fs::path build = work / "build";
  std::error_code failed;
  if (!fs::create_directory(build, failed))
    return fail(fault::infrastructure, fmt::format("making {}: {}", build.string(), failed.message()));
  std::vector<std::pair<std::string_view, std::string_view>> files = {
      {"kernel.cu", source}, {"kernsmith_kernel.h", harness::kernel_header_text()}, {"exports.map", exports_map}};
  files.insert(files.end(), language_.headers.begin(), language_.headers.end());
  for (const auto& [name, text] : files) {
    if (auto written = cpp::write_file(build / name, text); !written) return tl::unexpected(written.error());
  }
  auto spec = compiler_sandbox(program_);
  spec.writable = {{build, "/build"}};
  spec.read_only.insert(spec.read_only.end(), language_.readable.begin(), language_.readable.end());
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
  if (ran->memory_exceeded || ran->processes_exceeded || ran->output.find("Killed signal") != std::string::npos) {
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
  }
  if (kernel.outcome.empty() && what == product::library) {
    auto host = cpp::inspect_library(library);
    if (!host) return tl::unexpected(host.error());
    auto facts = inspect_device_library(library);
    if (!facts) return tl::unexpected(facts.error());
    kernel.machine_code = facts->machine_code;
    if (!host->exports_launch) {
      library.clear();
      kernel.outcome = "build_failed";
      kernel.detail =
          "the source defines no function `launch` with C linkage (extern \"C\" int launch(const ks_tensor*, int, ks_tensor*, int, "
          "ks_launch*))";
    }
  }
  if (auto kept = cpp::build_cache(cache_).keep(key, work, library, kernel); !kept) return tl::unexpected(kept.error());
  return kernel;
}

}  // namespace kernsmith::cuda
