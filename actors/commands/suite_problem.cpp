#include "actors/commands/suite_problem.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/commands/command_line.hpp"
#include "backends/harness/process.hpp"

namespace kernsmith::actors {

namespace fs = std::filesystem;

namespace {

constexpr double poll_s = 0.2;
constexpr double stop_grace_s = 60;  ///< for a child that was asked to stop: it may be in the middle of a measurement
constexpr std::size_t max_category_lines = 40;
constexpr std::size_t max_log_tail_bytes = std::size_t{64} << 10;
constexpr const char* death_signal_program = "/usr/bin/setpriv";  ///< of util-linux

bool matches(const fs::path& file, const std::vector<std::string>& filters) {
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
           return fnmatch(filter.c_str(), file.filename().c_str(), 0) == 0 || fnmatch(filter.c_str(), file.stem().c_str(), 0) == 0;
         });
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// The last lines of a log.
std::vector<std::string> tail_of(const fs::path& log) {
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const auto size = static_cast<std::size_t>(in.tellg());
  const std::size_t kept = std::min(size, max_log_tail_bytes);
  in.seekg(static_cast<std::streamoff>(size - kept));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

// Why a child ended without a result: its own message, else its last line.
std::string reason_of(const fs::path& log, int code) {
  static constexpr std::string_view mark = "kernsmith: ";
  const auto lines = tail_of(log);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (line->rfind(mark, 0) == 0 && line->find("a report stands in") == std::string::npos) return line->substr(mark.size());
  const std::string ended = code < 0 ? fmt::format("ended by signal {}", -code) : fmt::format("exit code {}", code);
  return lines.empty() ? ended : fmt::format("{}: {}", ended, lines.back());
}

transport::suite_status status_of_exit(int code) {
  switch (code) {
    case exit_bad_request:
      return transport::suite_status::refused;
    case exit_missing_here:
      return transport::suite_status::missing;
    case exit_interrupted:
      return transport::suite_status::interrupted;
    default:
      return transport::suite_status::failed;
  }
}

result<harness::child> start(const suite_problem& problem, const fs::path& log) {
  const harness::descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const harness::descriptor out(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!nothing.open() || !out.open()) return fail(fault::missing_here, harness::errno_text("opening " + log.string(), errno));
  std::error_code ignored;
  harness::spawn_request request;
  // A suite that is killed takes its session with it: otherwise that would hold the store against the next run.
  if (fs::exists(death_signal_program, ignored)) request.arguments = {death_signal_program, "--pdeathsig", "TERM", "--"};
  request.arguments.push_back(fs::read_symlink("/proc/self/exe", ignored).string());
  for (const std::string& argument : {std::string("optimize"), problem.file.string(), std::string("--target"), problem.target,
                                      std::string("--out"), problem.folder.string()})
    request.arguments.push_back(argument);
  request.arguments.insert(request.arguments.end(), problem.arguments.begin(), problem.arguments.end());
  request.environment = environment();
  request.descriptors = {{nothing.get(), 0}, {out.get(), 1}, {out.get(), 2}};
  return harness::spawn(request);
}

// The exit code, or nothing when the child was killed for taking too long.
std::optional<int> wait_or_stop(const harness::child& process, double limit_s) {
  const double begun = harness::monotonic_s();
  double asked_at = 0;
  for (;;) {
    if (const auto code = harness::wait_for(process, poll_s)) return code;
    const double now = harness::monotonic_s();
    if (asked_at == 0 && interrupted()) {
      ::kill(process.pid, SIGINT);  // a process group of its own: the terminal's signal didn't reach it
      asked_at = now;
    }
    const bool late = now - begun > limit_s, deaf = asked_at > 0 && now - asked_at > stop_grace_s;
    if (!late && !deaf) continue;
    ::kill(-process.pid, SIGKILL);
    ::kill(process.pid, SIGKILL);
    const auto code = harness::wait_for(process, stop_grace_s);
    return deaf ? code.value_or(-SIGKILL) : std::optional<int>();
  }
}

result<nlohmann::json> read_document(const fs::path& file) {
  return read_file(file).and_then([&](const std::string& text) -> result<nlohmann::json> {
    auto document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_discarded()) return fail(fault::corrupt, fmt::format("{}: is not JSON", file.string()));
    return document;
  });
}

}  // namespace

result<std::vector<fs::path>> find_suite_problems(const fs::path& folder, const std::vector<std::string>& filters) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec))
    return fail(fault::bad_request, fmt::format("{}: is not a folder; give one that holds problem files", folder.string()));
  std::vector<fs::path> all, chosen;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const fs::path& file = entry.path();
    const bool problem = file.extension() == ".py" || (file.extension() == ".toml" && file.filename() != "sizes.toml");
    if (problem && entry.is_regular_file(ec)) all.push_back(file);
  }
  if (ec) return fail(fault::bad_request, fmt::format("{}: can't be listed: {}", folder.string(), ec.message()));
  std::sort(all.begin(), all.end());
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const fs::path& file) { return matches(file, filters); });
  if (all.empty()) return fail(fault::bad_request, fmt::format("{}: holds no problem files (.py, .toml)", folder.string()));
  if (chosen.empty())
    return fail(fault::bad_request,
                fmt::format("{}: none of {} problem files matches --filter {}", folder.string(), all.size(), fmt::join(filters, ", ")));
  return chosen;
}

std::string category_of(const fs::path& file) {
  static const std::regex said("^#\\s*category:\\s*([A-Za-z0-9_-]{1,40})\\s*$");
  std::ifstream in(file);
  std::string line;
  for (std::size_t i = 0; i < max_category_lines && std::getline(in, line); ++i) {
    std::smatch match;
    if (line.size() < 200 && std::regex_match(line, match, said)) return match[1];
  }
  const std::string stem = file.stem().string();
  return stem.substr(0, stem.find('_'));
}

transport::suite_entry run_suite_problem(const suite_problem& problem, nlohmann::json& fingerprint) {
  transport::suite_entry entry;
  entry.file = problem.file.filename().string();
  entry.category = category_of(problem.file);
  entry.target = problem.target;
  const double begun = harness::monotonic_s();
  const auto ended = [&](transport::suite_status status, std::string reason) {
    entry.status = status;
    entry.reason = std::move(reason);
    entry.wall_s = harness::monotonic_s() - begun;
    return entry;
  };
  std::error_code ec;
  fs::create_directories(problem.folder, ec);
  fs::remove(problem.folder / "result.json", ec);  // of an earlier run: it would be taken for this one's
  const fs::path log = problem.folder / "log.txt";
  const auto process = start(problem, log);
  if (!process) return ended(transport::suite_status::missing, process.error().message);
  const auto code = wait_or_stop(*process, problem.limit_s);
  if (!code) return ended(transport::suite_status::failed, fmt::format("took longer than {:.0f} s and was killed", problem.limit_s));
  const auto document = read_document(problem.folder / "result.json");
  if (!document) return ended(status_of_exit(*code), reason_of(log, *code));
  if (*code != exit_done && *code != exit_nothing_found && *code != exit_interrupted)
    return ended(status_of_exit(*code), reason_of(log, *code));
  try {
    transport::read_result(*document, entry);
    if (fingerprint.is_null() && document->contains("fingerprint")) fingerprint = (*document)["fingerprint"];
  } catch (const nlohmann::json::exception& e) {
    return ended(transport::suite_status::failed, fmt::format("its result.json can't be read: {}", e.what()));
  }
  entry.wall_s = harness::monotonic_s() - begun;
  return entry;
}

}  // namespace kernsmith::actors
