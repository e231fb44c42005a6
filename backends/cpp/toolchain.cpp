#include "backends/cpp/toolchain.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "backends/cpp/build_cache.hpp"
#include "backends/cpp/half_float_text.hpp"
#include "backends/cpp/machine_code.hpp"
#include "backends/harness/kernel_header.hpp"
#include "backends/harness/sandbox.hpp"
#include "config/hash.hpp"
#include "config/text.hpp"

namespace kernsmith::cpp {

namespace fs = std::filesystem;

namespace {

constexpr double version_timeout_s = 20;
constexpr int max_compiler_processes = 64;
constexpr std::int64_t build_tmpfs_bytes = std::int64_t{512} << 20;
constexpr std::uintmax_t little_disk_bytes = std::uintmax_t{32} << 20;
/// Raised when what the compiler is asked for changes in a way that the flags below don't show.
constexpr std::string_view recipe = "1";

// One set for everything that is compared. -fno-semantic-interposition: without it -fPIC forbids inlining of plain global functions, which
// a program would get; the version script below makes the promise true.
constexpr std::array compile_flags = {"-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-fno-semantic-interposition"};
// How it is built, with no influence on the code.
constexpr std::array quiet_flags = {"-shared",
                                    "-pipe",
                                    "-fmax-errors=20",
                                    "-fdiagnostics-color=never",
                                    "-Wl,--no-undefined",
                                    "-Wl,-z,now",
                                    "-Wl,--version-script=/build/exports.map"};
// Everything but the entry point stays inside: names then have no influence on the order of the linker's tables.
constexpr std::string_view exports_map = "{ global: launch; local: *; };\n";

std::optional<fs::path> find_program(const std::string& name) {
  const auto runs = [](const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); };
  if (name.find('/') != std::string::npos) {
    std::error_code failed;
    const fs::path given = fs::absolute(name, failed);
    return runs(given) ? std::optional(given) : std::nullopt;
  }
  const char* const set = std::getenv("PATH");
  std::istringstream folders(set != nullptr && *set != '\0' ? set : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (candidate.is_absolute() && runs(candidate)) return candidate;
  }
  return std::nullopt;
}

result<fs::path> find_compiler() {
  if (const char* set = std::getenv("KERNSMITH_CXX"); set != nullptr && *set != '\0') {
    if (auto program = find_program(set)) return *program;
    return fail(fault::missing_here,
                fmt::format("KERNSMITH_CXX names '{}', which is not a program here; name a C++ compiler, or unset it to use g++", set));
  }
  for (const char* name : {"g++", "c++"}) {
    if (auto program = find_program(name)) return *program;
  }
  return fail(fault::missing_here,
              "no C++ compiler (g++) on this machine; install one, e.g. 'apt-get install g++', or name it in KERNSMITH_CXX");
}

/// Compilers outside the system's folders come with a prefix of their own: PREFIX/bin/g++ needs PREFIX.
std::vector<fs::path> paths_beside_system(const fs::path& program) {
  std::vector<fs::path> paths;
  std::error_code failed;
  for (const fs::path& path : {program, fs::canonical(program, failed)}) {
    if (path.empty()) continue;
    const std::string text = path.string();
    const bool system = text.starts_with("/usr/") || text.starts_with("/bin/") || text.starts_with("/lib");
    const fs::path prefix = path.parent_path().filename() == "bin" ? path.parent_path().parent_path() : path.parent_path();
    if (!system && prefix != "/" && std::find(paths.begin(), paths.end(), prefix) == paths.end()) paths.push_back(prefix);
  }
  return paths;
}

/// What -march=native means here: the first processor's model and features.
std::string processor_identity() {
  std::ifstream file("/proc/cpuinfo");
  std::string identity;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("model") || line.starts_with("flags") || line.starts_with("vendor_id") || line.starts_with("Features") ||
        line.starts_with("CPU part"))
      identity += line + '\n';
  }
  return content_hash(identity);
}

harness::sandbox_spec compiler_sandbox(const fs::path& program, const std::vector<fs::path>& paths) {
  harness::sandbox_spec spec;
  spec.command = {program.string()};
  spec.read_only = paths;
  // Nothing of the user's environment; no wrapper may write a cache of its own.
  spec.environment = {{"PATH", program.parent_path().string() + ":/usr/bin:/bin"},
                      {"LC_ALL", "C"},
                      {"HOME", "/tmp"},
                      {"TMPDIR", "/tmp"},
                      {"SOURCE_DATE_EPOCH", "0"},
                      {"CCACHE_DISABLE", "1"}};
  spec.tmpfs_bytes = build_tmpfs_bytes;
  spec.memory_limit_bytes = max_build_memory_bytes;
  spec.max_file_bytes = static_cast<std::int64_t>(max_library_bytes);
  spec.max_processes = max_compiler_processes;
  return spec;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// The line that a person wants to read: the first error, without the sandbox's folder.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error: ") != std::string::npos || line.find("undefined reference") != std::string::npos) {
      first = line;
      break;
    }
  }
  for (std::size_t at = 0; (at = first.find("/build/")) != std::string::npos;) first.erase(at, std::string_view("/build/").size());
  return first;
}

bool disk_is_full(const fs::path& folder) {
  struct statvfs facts {};
  return ::statvfs(folder.c_str(), &facts) == 0 && static_cast<std::uintmax_t>(facts.f_bavail) * facts.f_frsize < little_disk_bytes;
}

/// "g++ 12.2.0" from "g++ (Debian 12.2.0-14+deb12u1) 12.2.0".
std::string short_version(const std::string& line) {
  const std::size_t open = line.find(" ("), close = line.find(") ", open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return line;
  return line.substr(0, open) + " " + line.substr(close + 2);
}

}  // namespace

/// g++ knows _Float16 in C++ from version 12 on; clang++ from long before.
bool lacks_half(const std::string& compiler) {
  constexpr int first_with_half = 12;
  const std::size_t space = compiler.find(' ');
  return compiler.find("clang") == std::string::npos && space != std::string::npos && std::atoi(compiler.c_str() + space) > 0 &&
         std::atoi(compiler.c_str() + space) < first_with_half;
}

result<toolchain> toolchain::discover(const fs::path& cache) {
  auto program = find_compiler();
  if (!program) return tl::unexpected(program.error());
  auto folders = build_cache::open(cache);
  if (!folders) return tl::unexpected(folders.error());
  toolchain made;
  made.program_ = *program;
  made.cache_ = folders->root();
  made.compiler_paths_ = paths_beside_system(*program);
  auto spec = compiler_sandbox(made.program_, made.compiler_paths_);
  spec.command.push_back("--version");
  auto asked = harness::run_sandboxed(spec, version_timeout_s);
  if (!asked) return tl::unexpected(asked.error());
  if (asked->exit_status != 0 || asked->output.empty()) {
    return fail(fault::missing_here,
                fmt::format("the compiler {} does not run in the sandbox: {}", made.program_.string(), first_line(asked->output)));
  }
  const std::string version = first_line(asked->output);
  made.compiler_version_ = short_version(version);
  made.lacks_half_ = lacks_half(made.compiler_version_);
  made.identity_ = made.program_.string() + '\n' + version + '\n' + processor_identity();
  return made;
}

result<fs::path> toolchain::own_library(const std::string& name) const {
  auto spec = compiler_sandbox(program_, compiler_paths_);
  spec.command.push_back("-print-file-name=" + name);
  auto asked = harness::run_sandboxed(spec, version_timeout_s);
  if (!asked) return tl::unexpected(asked.error());
  std::error_code failed;
  const std::string answer = first_line(asked->output);
  const fs::path found = fs::canonical(answer, failed);
  // A compiler that has no such file answers with the bare name.
  if (asked->exit_status != 0 || !answer.starts_with('/') || failed) {
    return fail(fault::missing_here, fmt::format("the compiler {} comes without {}; install its sanitizers, on Debian with 'scripts/setup' "
                                                 "(package {})",
                                                 program_.string(), name, name == "libtsan.so" ? "libtsan2" : "libasan8, libubsan1"));
  }
  return found;
}

std::string toolchain::flags() const {
  return fmt::format("{} -shared", fmt::join(compile_flags, " "));
}

result<built_kernel> toolchain::build(const std::string& source, const std::vector<std::string>& extra_flags,
                                      const std::vector<std::string>& link_flags, double timeout_s, std::string_view companion,
                                      const named_texts& beside) const {
  built_kernel kernel;
  if (source.size() > max_source_bytes) {
    kernel.outcome = "build_failed";
    kernel.detail = fmt::format("the source has {} bytes; the limit is {}", source.size(), max_source_bytes);
    return kernel;
  }
  if (source.find('\0') != std::string::npos || !is_valid_utf8(source)) {
    kernel.outcome = "build_failed";
    kernel.detail = "the source is not UTF-8 text";
    return kernel;
  }
  const build_cache cache(cache_);
  std::string everything = fmt::format("{}\x1e{}\x1e{}\x1e{}\x1e{}\x1e{}\x1e{}\x1e{}", recipe, identity_, fmt::join(compile_flags, " "),
                                       fmt::join(quiet_flags, " "), fmt::join(extra_flags, "\n"), fmt::join(link_flags, "\n"),
                                       harness::kernel_header_text(), source);
  if (!companion.empty()) everything.append("\x1e").append(companion);
  if (lacks_half_) everything.append("\x1e").append(half_float_text());
  for (const auto& [name, text] : beside) everything.append("\x1e").append(name).append("\x1e").append(text);
  const std::string key = content_hash(everything);
  if (auto known = cache.find(key)) return std::move(*known);
  auto work = cache.make_work_folder();
  if (!work) return tl::unexpected(work.error());
  auto built = compile(source, key, extra_flags, link_flags, timeout_s, companion, beside, *work);
  std::error_code ignored;
  fs::remove_all(*work, ignored);
  return built;
}

/// Runs the compiler in `work`, which appears as /build, and keeps what came of it.
result<built_kernel> toolchain::compile(const std::string& source, const std::string& key, const std::vector<std::string>& extra_flags,
                                        const std::vector<std::string>& link_flags, double timeout_s, std::string_view companion,
                                        const named_texts& beside, const fs::path& work) const {
  const fs::path build = work / "build";
  std::error_code failed;
  if (!fs::create_directory(build, failed))
    return fail(fault::infrastructure, fmt::format("making {}: {}", build.string(), failed.message()));
  for (const auto& [name, text] : {std::pair<const char*, std::string_view>{"kernel.cpp", source},
                                   {"companion.cpp", companion},
                                   {"kernsmith_kernel.h", harness::kernel_header_text()},
                                   {"exports.map", exports_map}}) {
    if (auto written = write_file(build / name, text); !written) return tl::unexpected(written.error());
  }
  for (const auto& [name, text] : beside) {
    if (auto written = write_file(build / name, text); !written) return tl::unexpected(written.error());
  }
  if (lacks_half_) {
    if (auto written = write_file(build / "half_float.h", half_float_text()); !written) return tl::unexpected(written.error());
  }
  auto spec = compiler_sandbox(program_, compiler_paths_);
  spec.writable = {{build, "/build"}};
  spec.command.insert(spec.command.end(), compile_flags.begin(), compile_flags.end());
  spec.command.insert(spec.command.end(), quiet_flags.begin(), quiet_flags.end());
  spec.command.insert(spec.command.end(), extra_flags.begin(), extra_flags.end());
  if (lacks_half_) spec.command.insert(spec.command.end(), {"-include", "/build/half_float.h"});
  if (!companion.empty()) spec.command.push_back("/build/companion.cpp");
  // The binary carries what it was built from; inspect_library() reads it back.
  for (const std::string& argument : {"-Wl,--build-id=0x" + key, std::string("-I/build"), std::string("/build/kernel.cpp"),
                                      std::string("-o"), std::string("/build/kernel.so")})
    spec.command.push_back(argument);
  spec.command.insert(spec.command.end(), link_flags.begin(), link_flags.end());
  auto ran = harness::run_sandboxed(spec, timeout_s);
  if (!ran) return tl::unexpected(ran.error());

  built_kernel kernel;
  kernel.build_s = ran->wall_s;
  kernel.log = ran->output;
  if (ran->timed_out) {
    kernel.outcome = "build_timeout";
    kernel.detail = fmt::format("the compiler ran for more than {} s", timeout_s);
  } else if (ran->memory_exceeded || ran->processes_exceeded) {
    kernel.outcome = "resource_limit";
    kernel.detail = ran->memory_exceeded ? fmt::format("the compiler used more than {} MiB of memory", max_build_memory_bytes >> 20)
                                         : fmt::format("the compiler started more than {} processes", max_compiler_processes);
  } else if (ran->exit_status != 0) {
    // Writing its output is the compiler's only use of a real disk.
    const bool full = ran->output.find("No space left on device") != std::string::npos;
    if (full && disk_is_full(work))
      return fail(fault::infrastructure, fmt::format("the disk of the build cache {} is full; free some space there", cache_.string()));
    const bool limit = full || ran->output.find("File size limit exceeded") != std::string::npos ||
                       ran->output.find("File too large") != std::string::npos || ran->output.find("Killed signal") != std::string::npos;
    kernel.outcome = limit ? "resource_limit" : "build_failed";
    kernel.detail = first_error(ran->output);
  }
  if (kernel.outcome == "build_timeout" || kernel.outcome == "resource_limit")
    return kernel;  // depends on the machine's load: asked again, it is tried again
  std::string library;
  if (kernel.outcome.empty()) {
    auto bytes = read_library(build / "kernel.so");
    if (!bytes) return tl::unexpected(bytes.error());
    auto facts = inspect_library(*bytes);
    if (!facts) return tl::unexpected(facts.error());
    kernel.machine_code = facts->machine_code;
    if (facts->exports_launch) {
      library = std::move(*bytes);
    } else {
      kernel.outcome = "build_failed";
      kernel.detail =
          "the source defines no function `launch` with C linkage (extern \"C\" int launch(const ks_tensor*, int, ks_tensor*, int, "
          "ks_launch*))";
    }
  }
  if (auto kept = build_cache(cache_).keep(key, work, library, kernel); !kept) return tl::unexpected(kept.error());
  return kernel;
}

}  // namespace kernsmith::cpp
