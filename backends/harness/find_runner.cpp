#include "backends/harness/find_runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace kernsmith::harness {

namespace fs = std::filesystem;

result<fs::path> find_runner() {
  const auto runs = [](const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); };
  std::error_code failed;
  if (const char* set = std::getenv("KERNSMITH_RUNNER"); set != nullptr && *set != '\0') {
    const fs::path given = fs::absolute(set, failed);
    if (runs(given)) return given;
    return fail(fault::missing_here, fmt::format("KERNSMITH_RUNNER names {}, which is not a program", given.string()));
  }
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return fail(fault::infrastructure, "reading /proc/self/exe: " + failed.message());
  const fs::path here = self.parent_path();
  std::string looked_at;
  for (const fs::path& folder : {here, here.parent_path() / "libexec", here.parent_path() / "bin", here / "bin"}) {
    const fs::path candidate = folder / "kernsmith-runner";
    if (runs(candidate)) return candidate;
    looked_at += (looked_at.empty() ? "" : ", ") + candidate.string();
  }
  return fail(fault::missing_here,
              fmt::format("kernsmith-runner is missing (looked at {}); build it, or name it in KERNSMITH_RUNNER", looked_at));
}

result<fs::path> find_hosted_runner() {
  const auto runner = find_runner();
  if (!runner) return runner;
  const fs::path here = runner->parent_path();
  std::error_code failed;
  for (const fs::path& folder : {here, here.parent_path()}) {
    const fs::path candidate = folder / "kernsmith-runner.so";
    if (fs::is_regular_file(candidate, failed)) return candidate;
  }
  return fail(fault::missing_here,
              fmt::format("kernsmith-runner.so is missing beside {}; build it (target kernsmith-runner-hosted)", runner->string()));
}

bool is_runner_file(const fs::path& mapped) {
  if (mapped.filename() != "kernsmith-runner" && mapped.filename() != "kernsmith-runner.so") return false;
  const auto runner = find_runner();
  if (!runner) return false;
  std::error_code failed;
  const fs::path folder = fs::canonical(*runner, failed).parent_path();
  return !failed && (mapped.parent_path() == folder || mapped.parent_path() == folder.parent_path() ||
                     mapped.parent_path() == runner->parent_path() || mapped.parent_path() == runner->parent_path().parent_path());
}

}  // namespace kernsmith::harness
