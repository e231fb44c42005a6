#include "backends/harness/profile_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "backends/harness/find_runner.hpp"
#include "backends/harness/openmp_environment.hpp"
#include "backends/harness/process.hpp"
#include "config/input_values.hpp"

namespace kernsmith::harness {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t workspace_bytes = std::uint64_t{64} << 20;  // as candidates get when they are timed
constexpr int most_profiled_processes = 512;                        // threads count, and profilers start some of their own
constexpr std::int64_t max_profile_file_bytes = std::int64_t{1} << 30;

result<std::string> read_text(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return fail(fault::infrastructure, errno_text("reading " + file.string(), errno));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string tensor_text(const problem& p, int tensor, const std::vector<std::int64_t>& axes) {
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(tensor)];
  const std::vector<std::int64_t> shape = shape_of(t, axes);
  return fmt::format("{} {} {} {}", static_cast<int>(t.type), static_cast<std::size_t>(element_count(shape)) * size_of(t.type),
                     shape.size(), fmt::join(shape, " "));
}

result<void> write_input(const problem& p, int tensor, const std::vector<std::int64_t>& axes, std::uint64_t seed, const fs::path& file) {
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(tensor)];
  std::vector<char> bytes(static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(t.type));
  if (auto filled = fill_input(p, tensor, axes, seed, content::as_declared, bytes.data()); !filled) return filled;
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return fail(fault::infrastructure, errno_text("writing " + file.string(), errno));
  return {};
}

std::string how_it_ended(const command_result& ran, double timeout_s) {
  if (ran.timed_out) return fmt::format("it ran for more than {:.0f} s", timeout_s);
  if (ran.memory_exceeded) return "it used too much memory";
  if (ran.processes_exceeded) return "it started too many threads";
  if (ran.exit_status < 0) return fmt::format("it died of signal {}", -ran.exit_status);
  return fmt::format("exit status {}", ran.exit_status);
}

/// The last lines of an output: where programs say what went wrong.
std::string end_of(const std::string& text) {
  constexpr std::size_t most = 400;
  std::string tail = text.size() > most ? text.substr(text.size() - most) : text;
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  for (char& c : tail) c = c == '\n' ? ' ' : c;
  return tail;
}

sandbox_spec sandbox_for(const profile_folder& folder, const profile_run_spec& spec, const fs::path& runner) {
  sandbox_spec box;
  box.command = spec.wrapper;
  for (const std::string& argument :
       {runner.string(), std::string("profile"), (folder.inputs() / "manifest").string(), std::string(profile_output_inside) + "/report"})
    box.command.push_back(argument);
  box.read_only = spec.readable;
  box.read_only.insert(box.read_only.end(), {runner, spec.library, folder.inputs()});
  box.writable = {{folder.output(), profile_output_inside}};
  box.environment = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}, {"HOME", "/tmp"}};
  for (auto&& variable : openmp_environment(spec.cores)) box.environment.push_back(std::move(variable));
  box.environment.insert(box.environment.end(), spec.environment.begin(), spec.environment.end());
  if (!spec.accelerator.driver.empty()) box.devices = spec.accelerator.nodes;
  box.cores = spec.cores;
  box.memory_limit_bytes = spec.memory_limit_bytes;
  box.max_file_bytes = max_profile_file_bytes;
  box.max_processes = most_profiled_processes;
  box.may_fork = !spec.wrapper.empty();
  return box;
}

}  // namespace

result<profile_folder> profile_folder::create(const problem& p, const std::vector<std::int64_t>& axes, std::uint64_t seed,
                                              const fs::path& parent) {
  std::error_code failed;
  fs::create_directories(parent, failed);
  std::string pattern = (fs::absolute(parent, failed) / "profile-XXXXXX").string();
  if (failed || ::mkdtemp(pattern.data()) == nullptr)
    return fail(fault::infrastructure, errno_text("making a folder in " + parent.string(), errno));
  profile_folder made;
  made.path_ = pattern;
  for (const fs::path& inner : {made.inputs(), made.output()}) {
    if (!fs::create_directory(inner, failed)) return fail(fault::infrastructure, errno_text("making " + inner.string(), errno));
  }
  made.tensors_ = fmt::format("axes {}\n", fmt::join(axes, " "));
  for (const int tensor : p.inputs()) {
    const fs::path file = made.inputs() / fmt::format("input-{}", tensor);
    if (auto written = write_input(p, tensor, axes, seed, file); !written) return tl::unexpected(written.error());
    made.tensors_ += fmt::format("input {} {}\n", tensor_text(p, tensor, axes), file.string());
  }
  for (const int tensor : p.outputs()) made.tensors_ += fmt::format("output {}\n", tensor_text(p, tensor, axes));
  return made;
}

profile_folder::~profile_folder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

result<profile_report> run_for_profile(const profile_folder& folder, const profile_run_spec& spec) {
  auto runner = find_runner();
  if (!runner) return tl::unexpected(runner.error());
  {
    std::ofstream out(folder.inputs() / "manifest");
    out << fmt::format("library {}\nthreads {}\nworkspace {}\nwarm {}\ncalls {}\nseconds {}\nsample {}\n{}", spec.library.string(),
                       spec.cores.size(), workspace_bytes, spec.warm_calls, spec.calls, spec.seconds, spec.sample ? 1 : 0,
                       folder.tensors());
    if (!spec.accelerator.driver.empty()) out << fmt::format("device {} {}\n", spec.accelerator.ordinal, spec.accelerator.driver.string());
    if (!spec.timeline.empty()) out << fmt::format("timeline {}\n", spec.timeline.string());
    if (!out.flush()) return fail(fault::infrastructure, errno_text("writing a profile's manifest", errno));
  }
  std::error_code ignored;
  fs::remove(folder.output() / "report", ignored);
  auto ran = run_sandboxed(sandbox_for(folder, spec, *runner), spec.timeout_s, spec.stop);
  if (!ran) return tl::unexpected(ran.error());
  if (spec.output != nullptr) *spec.output = ran->output;
  if (ran->exit_status != 0 || ran->timed_out) {
    return fail(fault::bad_request,
                fmt::format("{}{}", how_it_ended(*ran, spec.timeout_s), ran->output.empty() ? "" : ": " + end_of(ran->output)));
  }
  auto text = read_text(folder.output() / "report");
  if (!text) return fail(fault::bad_request, fmt::format("it left no report: {}", end_of(ran->output)));
  auto report = parse_profile_report(*text);
  if (!report) return tl::unexpected(report.error());
  report->output = ran->output;
  return report;
}

result<profile_report> parse_profile_report(const std::string& text) {
  profile_report report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "calls") {
      words >> report.calls;
    } else if (key == "call_ns") {
      words >> report.call_ns;
    } else if (key == "wall_ns") {
      words >> report.wall_ns;
    } else if (key == "cpu_ns") {
      words >> report.cpu_ns;
    } else if (key == "event_ns") {
      words >> report.event_ns;
    } else if (key == "device_kernels") {
      words >> report.timeline.kernels;
    } else if (key == "device_copies") {
      words >> report.timeline.copies;
    } else if (key == "device_busy_ns") {
      words >> report.timeline.busy_ns;
    } else if (key == "device_span_ns") {
      words >> report.timeline.span_ns;
    } else if (key == "host_syncs") {
      words >> report.timeline.syncs;
    } else if (key == "host_sync_ns") {
      words >> report.timeline.sync_ns;
    } else if (key == "sample") {
      profile_sample s;
      words >> s.thread >> s.count >> std::hex >> s.offset >> std::dec;
      std::getline(words >> std::ws, s.object);
      report.samples.push_back(std::move(s));
    }
    if (words.fail()) return fail(fault::corrupt, fmt::format("a profile's report holds '{}'", line));
  }
  if (report.calls == 0 || report.wall_ns <= 0) return fail(fault::corrupt, "a profile's report counts no calls");
  return report;
}

}  // namespace kernsmith::harness
