#include "backends/pytorch/python_installation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "backends/harness/bounded_output.hpp"
#include "backends/harness/process.hpp"

namespace kernsmith::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr double question_timeout_s = 20;

/// Answers without importing anything large: PyTorch alone takes seconds.
constexpr const char* question = R"python(
import importlib.metadata, importlib.util, json, os, re, sys
def version(name):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        spec = None
    if spec is None:
        return None
    folder = os.path.dirname(spec.origin) if spec.origin else ""
    try:
        with open(os.path.join(folder, "version.py")) as file:
            found = re.search(r"^__version__\b[^=\n]*=\s*['\"]([^'\"]+)", file.read(), re.M)
        if found:
            return found.group(1)
    except OSError:
        pass
    try:
        return importlib.metadata.version(name)
    except Exception:
        return "?"
packages = {name: version(name) for name in ("torch", "triton", "cutlass", "flydsl", "tlx", "numpy")}
print(json.dumps({"program": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "prefix": [sys.prefix, sys.base_prefix],
                  "path": [p for p in sys.path if p], "packages": {k: v for k, v in packages.items() if v}}))
)python";

/// What `program` answers; nothing when it does not run or says something else.
std::optional<nlohmann::json> ask(const fs::path& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  harness::descriptor read(ends[0]), write(ends[1]);
  const harness::descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
  harness::spawn_request request;
  request.arguments = {program.string(), "-c", question};
  // The user's own environment: a virtual environment or PYTHONPATH is found as the user finds it.
  for (char** variable = environ; *variable != nullptr; ++variable) request.environment.emplace_back(*variable);
  request.descriptors = {{null.get(), 0}, {write.get(), 1}, {null.get(), 2}};
  auto process = harness::spawn(request);
  write.reset();
  if (!process) return std::nullopt;
  const double deadline_s = harness::monotonic_s() + question_timeout_s;
  harness::bounded_output said;
  bool open = true;
  while (open && harness::monotonic_s() < deadline_s) {
    if (harness::wait_readable(read.get(), deadline_s - harness::monotonic_s())) open = said.drain(read.get());
  }
  auto end = harness::wait_for(*process, std::max(0.0, deadline_s - harness::monotonic_s()));
  if (!end) {
    ::kill(process->pid, SIGKILL);
    (void)harness::wait_for(*process, question_timeout_s);
    return std::nullopt;
  }
  if (*end != 0) return std::nullopt;
  const std::string text = said.text();
  auto answer = nlohmann::json::parse(text.substr(text.find('{') == std::string::npos ? 0 : text.find('{')), nullptr, false);
  return answer.is_object() ? std::optional(std::move(answer)) : std::nullopt;
}

/// The folders of the system are in every sandbox; a home folder as a whole is never shown.
bool needs_showing(const fs::path& folder) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return false;
  const fs::path real = fs::canonical(folder, failed);
  for (const char* system : {"/usr", "/lib", "/lib64", "/bin"}) {
    const std::string prefix = std::string(system) + "/";
    if (real == system || real.string().starts_with(prefix)) return false;
  }
  const char* const home = std::getenv("HOME");
  return real != "/" && (home == nullptr || real != fs::canonical(home, failed));
}

python_installation described(const nlohmann::json& answer) {
  python_installation found;
  found.program = answer.value("program", "");
  found.version = answer.value("version", "");
  found.packages = answer.value("packages", std::map<std::string, std::string>());
  std::vector<fs::path> wanted;
  for (const auto& prefix : answer.value("prefix", std::vector<std::string>())) wanted.emplace_back(prefix);
  for (const auto& entry : answer.value("path", std::vector<std::string>())) {
    found.search_path.push_back(entry);
    wanted.emplace_back(entry);
  }
  for (const fs::path& folder : wanted) {
    const bool covered = std::any_of(found.folders.begin(), found.folders.end(), [&](const fs::path& known) {
      return folder == known || folder.string().starts_with(known.string() + "/");
    });
    if (!covered && needs_showing(folder)) found.folders.push_back(folder);
  }
  return found;
}

result<python_installation> search() {
  if (const char* given = std::getenv("KERNSMITH_PYTHON"); given != nullptr && *given != '\0') {
    const auto answer = ask(given);
    if (!answer) return fail(fault::missing_here, fmt::format("KERNSMITH_PYTHON names {}, which does not run as a Python 3", given));
    python_installation found = described(*answer);
    if (!found.has("torch"))
      return fail(fault::missing_here, fmt::format("KERNSMITH_PYTHON names {}, which has no PyTorch (package torch)", given));
    return found;
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "") + ":/usr/local/bin:/usr/bin");
  std::vector<fs::path> looked_at;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / "python3";
    if (!candidate.is_absolute() || ::access(candidate.c_str(), X_OK) != 0) continue;
    if (std::find(looked_at.begin(), looked_at.end(), candidate) != looked_at.end()) continue;
    looked_at.push_back(candidate);
    if (const auto answer = ask(candidate)) {
      python_installation found = described(*answer);
      if (found.has("torch")) return found;
    }
  }
  std::string names;
  for (const fs::path& candidate : looked_at) names += (names.empty() ? "" : ", ") + candidate.string();
  return fail(fault::missing_here, names.empty() ? fmt::format("this needs PyTorch, and there is no python3 here; {}", remedy)
                                                 : fmt::format("this needs PyTorch, which no Python here has ({}); {}", names, remedy));
}

}  // namespace

result<python_installation> find_python() {
  static std::mutex mutex;
  static std::optional<result<python_installation>> known;
  const std::lock_guard lock(mutex);
  if (!known) known = search();
  return *known;
}

}  // namespace kernsmith::pytorch
