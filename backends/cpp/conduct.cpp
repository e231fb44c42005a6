#include "backends/cpp/conduct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>

#include "backends/harness/find_runner.hpp"
#include "backends/harness/permitted_libraries.hpp"

namespace kernsmith::cpp {

namespace {

/// Idle pools spin for a while before they sleep, OpenMP's for some 100 us here. What works for longer is no pool between two calls.
constexpr double busy_timeout_s = 1;
/// At rest means less than this share of a processor over such a time. On a loaded machine a spinning thread gets less than a whole one, so
/// that a short look may see nothing.
constexpr double rest_window_s = 0.02, rest_share = 0.05;

/// Of larger outputs a window is looked at.
constexpr std::size_t window_bytes = std::size_t{8} << 20;

/// What every compiled C++ kernel may be linked with: the languages' and OpenMP's run-time libraries, of GCC and of Clang. Vendors' and
/// mathematical libraries are not among them: a candidate is what its source says, unless the problem permits one.
constexpr std::array<std::string_view, 18> runtime_libraries = {
    "ld-linux", "libc.so",      "libm.so",        "libmvec.so", "libgomp.so", "libgcc_s.so",  "libstdc++.so", "libpthread.so", "libdl.so",
    "librt.so", "libatomic.so", "libquadmath.so", "libomp.so",  "libc++.so",  "libc++abi.so", "libunwind.so", "libc-",         "libm-"};

bool is_runtime(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const std::string folder = file.parent_path().string();
  // A bundle's own libraries are mounted read-only, wherever it was unpacked (scripts/bundle-launcher).
  const char* bundle = std::getenv("KERNSMITH_BUNDLE");
  const bool from_bundle = bundle != nullptr && *bundle == '/' && folder.starts_with(std::string(bundle) + "/lib/");
  if (!from_bundle && (folder.starts_with("/tmp") || folder.starts_with("/dev"))) return false;  // where a candidate can write
  return std::any_of(runtime_libraries.begin(), runtime_libraries.end(), [&](std::string_view known) { return name.starts_with(known); });
}

bool comes_to_rest(kernel_process& process) {
  for (int look = 0; look * rest_window_s < busy_timeout_s; ++look) {
    const double before_ns = process.cpu_ns();
    std::this_thread::sleep_for(std::chrono::duration<double>(rest_window_s));
    if (process.cpu_ns() - before_ns < rest_share * rest_window_s * 1e9) return true;
  }
  return false;
}

}  // namespace

result<check_result> check_conduct(const problem& p, const candidate_language* language, kernel_process& process,
                                   const std::filesystem::path& library, kernel_buffers& buffers, double timeout_s) {
  check_result check;
  const auto cheating = [&](const char* rule, std::string detail) {
    check.outcome = "cheating";
    check.rule = rule;
    check.detail = std::move(detail);
    return check;
  };
  const auto ended = [&](const harness::call_result& called) {
    check.outcome = outcome_of(called.status);
    check.detail = "after it had answered: " + called.detail;
    return check;
  };
  auto called = process.call({&buffers}, timeout_s, after_call::stands_still);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) return ended(*called);
  const std::uint64_t where = std::random_device()();
  const std::uint64_t at_answer = fingerprint_of_outputs(buffers, where, window_bytes);
  const std::vector<harness::executable_mapping> mappings = process.executable_mappings();
  if (mappings.empty()) return fail(fault::infrastructure, "the system gives no account of what a runner executes");
  for (const harness::executable_mapping& mapping : mappings) {
    const std::filesystem::path file = mapping.path;
    if (mapping.path.empty() && language != nullptr && language->may_generate_code()) continue;
    if (mapping.path.empty()) return cheating("foreign_code", "the process has executable memory that no file stands behind");
    if (file.filename() == library.filename() || harness::is_runner_file(file) || is_runtime(file) ||
        harness::is_permitted(p, "cpp", file) || (language != nullptr && language->may_execute(library, file)))
      continue;
    return cheating("foreign_code", fmt::format("the process has loaded {}, which was not built from its source", mapping.path));
  }
  process.thaw();
  if (!comes_to_rest(process)) {
    return cheating("busy_after_return",
                    fmt::format("its threads still use the processor {} s after launch has returned; a pool of threads must come to rest",
                                busy_timeout_s));
  }
  if (fingerprint_of_outputs(buffers, where, window_bytes) != at_answer)
    return cheating("late_writes", "it wrote to its outputs after launch had returned; what it left there at its return was right");
  // It may have ended meanwhile.
  auto empty = process.call({}, timeout_s);
  if (!empty) return tl::unexpected(empty.error());
  if (empty->status != harness::call_status::ok) return ended(*empty);
  return check;
}

}  // namespace kernsmith::cpp
