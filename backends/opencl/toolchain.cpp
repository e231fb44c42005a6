#include "backends/opencl/toolchain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "backends/cpp/build_cache.hpp"
#include "backends/cpp/machine_code.hpp"
#include "backends/harness/find_runner.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/opencl/opencl_header.hpp"
#include "config/hash.hpp"
#include "config/text.hpp"

namespace kernsmith::opencl {

namespace fs = std::filesystem;

namespace {

constexpr double device_timeout_s = 30;
constexpr int max_build_processes = 128;  // PoCL's compiler, its threads, and the linker
constexpr int runner_wrong_source = 1;
/// Where PoCL's cache lies in the process of a candidate. A mount of its own below a read-only root: it can't be renamed or replaced.
constexpr std::string_view cache_inside = "/kernsmith-pocl";
constexpr std::string_view kernels_folder = "kernels";
constexpr std::string_view remedy =
    "install PoCL and its headers, on Debian: apt-get install pocl-opencl-icd ocl-icd-libopencl1 opencl-c-headers (or scripts/setup --with "
    "opencl)";
/// Parameters and lines of the candidate's file keep their meaning for the device's compiler.
constexpr std::string_view device_preface = "#define KS_PARAM(name, value, ...) enum { name = (value) }\n#line 1 \"kernel.cl\"\n";
constexpr std::string_view source_object =
    "__asm__(\".section .kernsmith_source,\\\"a\\\",@progbits\\n\"\n"
    "        \".global ks_opencl_source\\nks_opencl_source:\\n.incbin \\\"/build/device.cl\\\"\\n\"\n"
    "        \".global ks_opencl_source_end\\nks_opencl_source_end:\\n.byte 0\\n.previous\\n\");\n";

// What PoCL's process is linked with on Debian, besides what C++ candidates may be: the loader, PoCL, its compiler, and what that needs.
constexpr std::array<std::string_view, 18> device_libraries = {
    "libOpenCL.so", "libpocl", "libLLVM", "libclang-cpp", "libhwloc", "libudev",  "libltdl", "libicudata", "libicuuc",
    "libz3",        "liblzma", "libbsd",  "libmd.so",     "libxml2",  "libtinfo", "libz.so", "libedit",    "libffi"};

/// What PoCL reads beside the system's libraries: where it is registered, and the machine's memory and processors.
std::vector<fs::path> device_paths() {
  std::vector<fs::path> paths;
  std::error_code failed;
  for (const char* path : {"/etc/OpenCL", "/sys/devices/system/node"}) {
    if (fs::is_directory(path, failed)) paths.emplace_back(path);
  }
  return paths;
}

std::vector<std::pair<std::string, std::string>> device_environment(const std::string& cache, std::size_t threads) {
  return {{"POCL_CACHE_DIR", cache},
          {"POCL_DEVICES", "pthread"},
          {"POCL_MAX_PTHREAD_COUNT", std::to_string(threads)},
          {"POCL_SIGFPE_HANDLER", "0"},
          {"POCL_SIGUSR2_HANDLER", "0"}};
}

result<harness::sandbox_spec> builder_sandbox() {
  auto runner = harness::find_runner();
  if (!runner) return tl::unexpected(runner.error());
  harness::sandbox_spec spec;
  spec.command = {runner->string(), "opencl"};
  spec.read_only = device_paths();
  spec.read_only.push_back(*runner);
  spec.environment = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}, {"HOME", "/tmp"}, {"TMPDIR", "/tmp"}};
  for (auto&& variable : device_environment("/tmp/pocl", 1)) spec.environment.push_back(std::move(variable));
  spec.memory_limit_bytes = cpp::max_build_memory_bytes;
  spec.max_processes = max_build_processes;
  return spec;
}

/// The first line that says what is wrong, without PoCL's place for it.
std::string first_error(const std::string& log) {
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    if (line.find("error: ") != std::string::npos) return line;
    begin = end + 1;
  }
  return log.substr(0, log.find('\n'));
}

/// Keeps the one program that PoCL has put into its cache: XX/HASH/KERNEL/SIZE/KERNEL.so.
result<void> remove_scraps(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> scraps;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (!entry.is_directory()) scraps.push_back(entry.path());
  for (const fs::path& path : scraps) fs::remove(path, failed);
  return {};
}

/// Over the work-group functions, in the order of their names.
result<std::string> device_code(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file() && entry.path().extension() == ".so") files.push_back(entry.path());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) { return a.filename() < b.filename(); });
  std::string all;
  for (const fs::path& file : files) {
    auto bytes = cpp::read_library(file);
    if (!bytes) return tl::unexpected(bytes.error());
    auto facts = cpp::inspect_library(*bytes);
    if (!facts) return tl::unexpected(facts.error());
    all += file.filename().string() + ' ' + facts->machine_code + '\n';
  }
  return all;
}

class opencl_language final : public cpp::candidate_language {
 public:
  opencl_language(cpp::toolchain host, fs::path cache, std::string device)
      : host_(std::move(host)), cache_(std::move(cache)), device_(std::move(device)) {}

  std::string name() const override { return "opencl"; }
  std::string compiler() const override { return fmt::format("{} and {}", device_, host_.compiler()); }
  std::string flags() const override { return host_.flags() + " -l:libOpenCL.so.1"; }
  result<harness::built_kernel> build(const std::string& source, double timeout_s) const override;
  void prepare(harness::runner_options& options) const override;
  bool may_execute(const fs::path& library, const fs::path& file) const override;

 private:
  result<harness::built_kernel> compile(const std::string& device_source, double timeout_s, const fs::path& work) const;

  cpp::toolchain host_;
  fs::path cache_;
  std::string device_;
};

result<harness::built_kernel> opencl_language::build(const std::string& source, double timeout_s) const {
  // The host side first: what is not C++ at all is told soonest by the quicker compiler.
  const std::string device_source = std::string(device_preface) + source;
  auto host = host_.build(source, {"-include", "/build/kernsmith_kernel.h"}, {"-l:libOpenCL.so.1"}, timeout_s, source_object,
                          {{"kernsmith_opencl.h", opencl_header_text()}, {"device.cl", device_source}});
  if (!host || !host->outcome.empty()) return host;
  auto bytes = cpp::read_library(host->library);
  if (!bytes) return tl::unexpected(bytes.error());
  const cpp::build_cache cache(cache_);
  const std::string key = content_hash(fmt::format("opencl 1\x1e{}\x1e{}\x1e{}", device_, device_source, content_hash(*bytes)));
  if (auto known = cache.find(key)) return std::move(*known);
  auto work = cache.make_work_folder();
  if (!work) return tl::unexpected(work.error());
  auto built = compile(device_source, timeout_s, *work);
  if (built) {
    built->build_s += host->build_s;
    if (built->outcome.empty()) {
      const auto code = device_code(*work / kernels_folder);
      if (!code) return tl::unexpected(code.error());
      built->machine_code = content_hash(host->machine_code + '\n' + *code);
    }
    if (built->outcome.empty() || built->outcome == "build_failed") {
      const std::string library = built->outcome.empty() ? *bytes : std::string();
      if (auto kept = cache.keep(key, *work, library, *built); !kept) return tl::unexpected(kept.error());
    }
  }
  std::error_code ignored;
  fs::remove_all(*work, ignored);
  return built;
}

/// Leaves PoCL's cache in work/kernels.
result<harness::built_kernel> opencl_language::compile(const std::string& device_source, double timeout_s, const fs::path& work) const {
  const fs::path kernels = work / kernels_folder;
  std::error_code failed;
  if (!fs::create_directory(kernels, failed))
    return fail(fault::infrastructure, fmt::format("making {}: {}", kernels.string(), failed.message()));
  if (auto written = cpp::write_file(work / "device.cl", device_source); !written) return tl::unexpected(written.error());
  auto spec = builder_sandbox();
  if (!spec) return tl::unexpected(spec.error());
  spec->command.push_back("/build/device.cl");
  spec->read_only_at = {{work / "device.cl", "/build/device.cl"}};
  spec->writable = {{kernels, cache_inside}};
  for (auto& [name, value] : spec->environment)
    if (name == "POCL_CACHE_DIR") value = cache_inside;
  auto ran = harness::run_sandboxed(*spec, timeout_s);
  if (!ran) return tl::unexpected(ran.error());
  harness::built_kernel kernel;
  kernel.build_s = ran->wall_s;
  kernel.log = ran->output;
  if (ran->timed_out) {
    kernel.outcome = "build_timeout";
    kernel.detail = fmt::format("the OpenCL compiler ran for more than {} s", timeout_s);
  } else if (ran->memory_exceeded || ran->processes_exceeded) {
    kernel.outcome = "resource_limit";
    kernel.detail = "the OpenCL compiler used more memory or processes than a build may";
  } else if (ran->exit_status == runner_wrong_source) {
    kernel.outcome = "build_failed";
    kernel.detail = first_error(ran->output);
  } else if (ran->exit_status != 0) {
    return fail(fault::missing_here, fmt::format("the OpenCL compiler does not run here ({}); {}", first_error(ran->output), remedy));
  }
  if (auto done = remove_scraps(kernels); !done) return tl::unexpected(done.error());
  return kernel;
}

void opencl_language::prepare(harness::runner_options& options) const {
  const fs::path kernels = options.library.parent_path() / kernels_folder;
  std::error_code failed;
  if (!fs::is_directory(kernels, failed)) return;
  for (fs::path& path : device_paths()) options.readable.push_back(std::move(path));
  // PoCL wants to write beside what it finds; the programs themselves are mounts of their own.
  options.scratch.emplace_back(cache_inside);
  for (const auto& entry : fs::directory_iterator(kernels, failed))
    options.readable_at.emplace_back(entry.path(), fs::path(cache_inside) / entry.path().filename());
  for (auto&& variable : device_environment(std::string(cache_inside), options.cores.size()))
    options.environment.push_back(std::move(variable));
}

bool opencl_language::may_execute(const fs::path& library, const fs::path& file) const {
  const fs::path kernels = library.parent_path() / kernels_folder;
  std::error_code failed;
  if (!fs::is_directory(kernels, failed)) return false;
  const fs::path below = file.lexically_relative(cache_inside);
  if (!below.empty() && *below.begin() != "..") return fs::is_directory(kernels / *below.begin(), failed);  // below one of the mounts
  const std::string name = file.filename().string();
  return file.string().starts_with("/usr/lib") &&
         std::any_of(device_libraries.begin(), device_libraries.end(), [&](std::string_view known) { return name.starts_with(known); });
}

}  // namespace

result<std::string> find_device() {
  auto spec = builder_sandbox();
  if (!spec) return tl::unexpected(spec.error());
  auto ran = harness::run_sandboxed(*spec, device_timeout_s);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->exit_status != 0) return fail(fault::missing_here, fmt::format("there is no OpenCL device for this machine's CPU; {}", remedy));
  std::string said = ran->output;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said.substr(said.rfind('\n') == std::string::npos ? 0 : said.rfind('\n') + 1);
}

result<std::unique_ptr<cpp::candidate_language>> open_language(const fs::path& cache) {
  auto device = find_device();
  if (!device) return tl::unexpected(device.error());
  auto host = cpp::toolchain::discover(cache);
  if (!host) return tl::unexpected(host.error());
  auto folders = cpp::build_cache::open(cache);
  if (!folders) return tl::unexpected(folders.error());
  return std::make_unique<opencl_language>(std::move(*host), folders->root(), std::move(*device));
}

}  // namespace kernsmith::opencl
