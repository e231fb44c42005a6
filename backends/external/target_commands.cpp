#include "backends/external/target_commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "backends/cpp/build_cache.hpp"
#include "backends/harness/kernel_header.hpp"
#include "config/hash.hpp"
#include "config/text.hpp"

namespace kernsmith::external {

namespace fs = std::filesystem;

namespace {

constexpr double version_timeout_s = 20;
constexpr int max_command_processes = 256;
constexpr std::int64_t max_build_memory_bytes = std::int64_t{4} << 30;
constexpr std::uintmax_t max_image_bytes = std::uintmax_t{256} << 20;
constexpr std::uintmax_t max_report_bytes = std::uintmax_t{1} << 20;
constexpr std::size_t max_source_bytes = std::size_t{4} << 20;
/// Inside the sandbox, where nothing of the machine's own can lie. One {work} serves builds and runs.
constexpr const char* inside_work = "/tmp/kernsmith-work";
constexpr const char* image_name = "kernel.image";
/// Raised when what is asked of the commands changes in a way that the target's files don't show.
constexpr std::string_view recipe = "1";

std::optional<fs::path> find_program(const std::string& name) {
  const auto runs = [](const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); };
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional<fs::path>(name) : std::nullopt;
  const char* const set = std::getenv("PATH");
  std::istringstream folders(set != nullptr && *set != '\0' ? set : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (candidate.is_absolute() && runs(candidate)) return candidate;
  }
  return std::nullopt;
}

/// Programs outside the system's folders come with a prefix of their own: PREFIX/bin/cc needs PREFIX.
std::optional<fs::path> prefix_beside_system(const fs::path& program) {
  const std::string text = program.string();
  if (text.starts_with("/usr/") || text.starts_with("/bin/") || text.starts_with("/lib")) return std::nullopt;
  const fs::path prefix = program.parent_path().filename() == "bin" ? program.parent_path().parent_path() : program.parent_path();
  return prefix == prefix.root_path() ? std::nullopt : std::optional(prefix);
}

/// {name} becomes its value; doubled braces become one. The loader has checked the names.
std::string substituted(const std::string& word, const std::map<std::string, std::string>& values) {
  std::string text;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const char c = word[at];
    if (c == '}' || (c == '{' && at + 1 < word.size() && word[at + 1] == '{')) {
      text += c;
      ++at;
      continue;
    }
    if (c != '{') {
      text += c;
      continue;
    }
    const std::size_t end = word.find('}', at);
    const auto found = values.find(word.substr(at + 1, end - at - 1));
    if (found != values.end()) text += found->second;
    at = end;
  }
  return text;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") == std::string::npos && line.find("undefined reference") == std::string::npos) continue;
    first = line;
    break;
  }
  const std::string folder = std::string(inside_work) + "/";
  for (std::size_t at = 0; (at = first.find(folder)) != std::string::npos;) first.erase(at, folder.size());
  return first;
}

/// A whole file, or nothing when it is missing, no regular file, or larger than `most`.
template <class Bytes>
std::optional<Bytes> read_bytes(const fs::path& path, std::uintmax_t most) {
  std::error_code failed;
  if (!fs::is_regular_file(fs::symlink_status(path, failed))) return std::nullopt;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed || size > most) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(static_cast<std::size_t>(size), typename Bytes::value_type{});
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  return file.gcount() == static_cast<std::streamsize>(size) ? std::optional(std::move(bytes)) : std::nullopt;
}

/// A work folder of the build cache that goes with its scope.
struct work_folder {
  fs::path path;
  explicit work_folder(fs::path made) : path(std::move(made)) {}
  ~work_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
};

/// What a command's end means for the candidate; empty when it ended by itself with 0.
std::string outcome_of(const harness::command_result& ran, const std::string& failed_word, const std::string& timeout_word) {
  if (ran.timed_out) return timeout_word;
  if (ran.memory_exceeded || ran.processes_exceeded) return "resource_limit";
  return ran.exit_status == 0 ? "" : failed_word;
}

bool is_outcome(const std::string& word) {
  static const std::vector<std::string> known = {"refused", "crashed", "timeout", "out_of_bounds", "input_modified", "resource_limit"};
  return std::find(known.begin(), known.end(), word) != known.end();
}

}  // namespace

std::vector<call_report> parse_report(const std::string& text, std::size_t most_calls) {
  std::vector<call_report> calls;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name;
    std::size_t number = 0;
    if (!(words >> kind >> number >> name) || number >= most_calls) continue;
    if (kind == "call" && number == calls.size() && (name == "ok" || is_outcome(name))) {
      call_report& call = calls.emplace_back();
      if (name != "ok") call.outcome = name;
      std::getline(words >> std::ws, call.detail);
    }
    double value = 0;
    if (kind == "counter" && number < calls.size() && words >> value && std::isfinite(value)) calls[number].counters.emplace(name, value);
  }
  return calls;
}

result<target_commands> target_commands::open(const external_target& target, const fs::path& cache) {
  target_commands made(target);
  auto folders = cpp::build_cache::open(cache);
  if (!folders) return tl::unexpected(folders.error());
  made.cache_ = folders->root();
  if (auto found = made.find_programs(); !found) return tl::unexpected(found.error());
  auto compiler = made.version_of(target.build.version);
  if (!compiler) return tl::unexpected(compiler.error());
  made.compiler_ = *compiler;
  auto driver = made.version_of(target.run.version);
  if (!driver) return tl::unexpected(driver.error());
  made.driver_ = *driver;
  return made;
}

result<void> target_commands::find_programs() {
  std::vector<const command_template*> commands;
  for (const command_template& step : target_.build.steps) commands.push_back(&step);
  for (const command_template* other : {&target_.build.version, &target_.run.command, &target_.run.version, &target_.profile}) {
    if (!other->empty()) commands.push_back(other);
  }
  for (const command_template* command : commands) {
    const std::string& word = command->front();
    const std::string name = substituted(word, {{"target", target_.folder.string()}});
    if (programs_.contains(word)) continue;
    const auto program = find_program(name);
    if (!program) {
      return fail(fault::missing_here, fmt::format("target {} needs the program '{}', which is not here; {}", target_.name, name,
                                                   target_.setup.empty() ? "install it, or put its folder into PATH" : target_.setup));
    }
    programs_[word] = *program;
  }
  return {};
}

harness::sandbox_spec target_commands::sandbox_for(const command_template& command,
                                                   const std::map<std::string, std::string>& values) const {
  harness::sandbox_spec spec;
  const fs::path& program = programs_.at(command.front());
  spec.command = {program.string()};
  for (std::size_t i = 1; i < command.size(); ++i) spec.command.push_back(substituted(command[i], values));
  spec.read_only = {target_.folder};
  if (const auto prefix = prefix_beside_system(program)) spec.read_only.push_back(*prefix);
  std::string path = "/usr/bin:/bin";
  for (const auto& [word, place] : programs_) {
    const std::string folder = place.parent_path().string();
    if ((":" + path + ":").find(":" + folder + ":") == std::string::npos) path += ":" + folder;
  }
  spec.environment = {{"PATH", path},         {"LC_ALL", "C"}, {"HOME", "/tmp"}, {"TMPDIR", "/tmp"}, {"SOURCE_DATE_EPOCH", "0"},
                      {"CCACHE_DISABLE", "1"}};
  spec.max_processes = max_command_processes;
  spec.max_file_bytes = static_cast<std::int64_t>(max_image_bytes);
  return spec;
}

result<std::string> target_commands::version_of(const command_template& command) const {
  if (command.empty()) return std::string();
  auto ran = harness::run_sandboxed(sandbox_for(command, {{"target", target_.folder.string()}}), version_timeout_s);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->exit_status != 0) {
    return fail(fault::missing_here, fmt::format("target {}: '{}' does not run in the sandbox: {}", target_.name, fmt::join(command, " "),
                                                 first_line(ran->output)));
  }
  return first_line(ran->output);
}

result<harness::built_kernel> target_commands::build(const std::string& source, double timeout_s) const {
  harness::built_kernel kernel;
  if (source.size() > max_source_bytes || source.find('\0') != std::string::npos || !is_valid_utf8(source)) {
    kernel.outcome = "build_failed";
    kernel.detail = source.size() > max_source_bytes
                        ? fmt::format("the source has {} bytes; the limit is {}", source.size(), max_source_bytes)
                        : "the source is not UTF-8 text";
    return kernel;
  }
  const cpp::build_cache cache(cache_);
  const std::string key = content_hash(
      fmt::format("external\x1e{}\x1e{}\x1e{}\x1e{}\x1e{}", recipe, target_.hash, compiler_, harness::kernel_header_text(), source));
  if (auto known = cache.find(key)) return std::move(*known);
  auto made = cache.make_work_folder();
  if (!made) return tl::unexpected(made.error());
  const work_folder work(*made);
  return run_steps(source, key, std::min(timeout_s, target_.build.timeout_s), work.path);
}

result<harness::built_kernel> target_commands::run_steps(const std::string& source, const std::string& key, double timeout_s,
                                                         const fs::path& work) const {
  const fs::path folder = work / "build";
  std::error_code failed;
  if (!fs::create_directory(folder, failed))
    return fail(fault::infrastructure, fmt::format("making {}: {}", folder.string(), failed.message()));
  const std::string source_name = "kernel" + suffix_of(target_.language);
  if (auto written = cpp::write_file(folder / source_name, source); !written) return tl::unexpected(written.error());
  if (auto written = cpp::write_file(folder / "kernsmith_kernel.h", harness::kernel_header_text()); !written)
    return tl::unexpected(written.error());
  const std::string inside = inside_work;
  const std::map<std::string, std::string> values = {
      {"source", inside + "/" + source_name}, {"output", inside + "/" + image_name}, {"work", inside}, {"target", target_.folder.string()}};
  harness::built_kernel kernel;
  for (const command_template& step : target_.build.steps) {
    harness::sandbox_spec spec = sandbox_for(step, values);
    spec.writable = {{folder, inside_work}};
    spec.working_directory = inside_work;
    spec.memory_limit_bytes = max_build_memory_bytes;
    spec.read_only.insert(spec.read_only.end(), target_.build.read_only.begin(), target_.build.read_only.end());
    auto ran = harness::run_sandboxed(spec, timeout_s);
    if (!ran) return tl::unexpected(ran.error());
    kernel.build_s += ran->wall_s;
    kernel.log += ran->output;
    kernel.outcome = outcome_of(*ran, "build_failed", "build_timeout");
    if (kernel.outcome.empty()) continue;
    kernel.detail = kernel.outcome == "build_failed" ? first_error(ran->output)
                                                     : fmt::format("'{}' went beyond its limit of {} s or {} MiB", step.front(), timeout_s,
                                                                   max_build_memory_bytes >> 20);
    break;
  }
  if (kernel.outcome == "build_timeout" || kernel.outcome == "resource_limit") return kernel;  // asked again, it is tried again
  std::string image;
  if (kernel.outcome.empty()) {
    auto bytes = read_bytes<std::string>(folder / image_name, max_image_bytes);
    if (!bytes || bytes->empty()) {
      kernel.outcome = "build_failed";
      kernel.detail = "the build's commands ended well and left no {output}";
    } else {
      image = std::move(*bytes);
      kernel.machine_code = content_hash(image);
    }
  }
  if (auto kept = cpp::build_cache(cache_).keep(key, work, image, kernel); !kept) return tl::unexpected(kept.error());
  return kernel;
}

result<run_report> target_commands::run(const fs::path& image, call_memory& memory) const {
  return run_command(target_.run.command, image, memory);
}

result<run_report> target_commands::profile(const fs::path& image, call_memory& memory) const {
  return run_command(target_.profile, image, memory);
}

result<run_report> target_commands::run_command(const command_template& command, const fs::path& image, call_memory& memory) const {
  auto made = cpp::build_cache(cache_).make_work_folder();
  if (!made) return tl::unexpected(made.error());
  const work_folder work(*made);
  const auto* bytes = reinterpret_cast<const char*>(memory.image().data());
  if (auto written = cpp::write_file(work.path / "memory.bin", {bytes, memory.image().size()}); !written)
    return tl::unexpected(written.error());
  if (auto written = cpp::write_file(work.path / "calls.txt", memory.descriptor()); !written) return tl::unexpected(written.error());
  harness::sandbox_spec spec =
      sandbox_for(command, {{"output", image.string()}, {"work", inside_work}, {"target", target_.folder.string()}});
  spec.writable = {{work.path, inside_work}};
  spec.working_directory = inside_work;
  spec.memory_limit_bytes = target_.run.host_memory_bytes;
  spec.max_file_bytes = std::max<std::int64_t>(static_cast<std::int64_t>(memory.image().size()), 1 << 20);
  spec.read_only.push_back(image);
  spec.read_only.insert(spec.read_only.end(), target_.run.read_only.begin(), target_.run.read_only.end());
  spec.devices = target_.run.devices;
  for (const auto& [name, value] : target_.run.environment) spec.environment.emplace_back(name, value);
  auto ran = harness::run_sandboxed(spec, target_.run.timeout_s);
  if (!ran) return tl::unexpected(ran.error());

  run_report report;
  report.wall_s = ran->wall_s;
  report.outcome = outcome_of(*ran, "crashed", "timeout");
  if (report.outcome == "timeout") report.detail = fmt::format("the run took more than {} s", target_.run.timeout_s);
  if (report.outcome == "resource_limit") report.detail = "the run took more memory or processes than the target allows";
  if (report.outcome == "crashed")
    report.detail = fmt::format("the run ended with status {}: {}", ran->exit_status, first_line(ran->output));
  const bool from_output = target_.run.report == "stdout";
  const auto said = from_output ? std::optional(ran->output) : read_bytes<std::string>(work.path / target_.run.report, max_report_bytes);
  if (said) report.calls = parse_report(*said, memory.calls());
  if (!report.outcome.empty()) return report;
  auto left = read_bytes<std::vector<std::byte>>(work.path / "memory.bin", memory.image().size());
  if (!left || !memory.take(std::move(*left))) {
    report.outcome = "crashed";
    report.detail = "the run left no memory.bin of the size it was given";
  }
  return report;
}

}  // namespace kernsmith::external
