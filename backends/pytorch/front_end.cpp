#include "backends/pytorch/front_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/harness/process.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/pytorch/problem_text.hpp"
#include "backends/pytorch/python_installation.hpp"
#include "backends/pytorch/trace_proof.hpp"
#include "backends/pytorch/tracer_text.hpp"

namespace kernsmith::pytorch {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int document_descriptor = 6;  // those before are the sandbox's own
constexpr const char* tracer_inside = "/tmp/kernsmith-trace";
constexpr const char* module_inside = "/tmp/kernsmith-module";
constexpr std::size_t max_name_length = 64;
constexpr int max_trace_processes = 64;  // threads count
constexpr int max_fitting_rounds = 64;
constexpr std::size_t max_workload_lines = 1024;
constexpr std::size_t max_workload_line_bytes = 1 << 20;

/// A temporary folder that goes with this object.
class private_folder {
 public:
  static result<private_folder> make() {
    std::string path = (fs::temp_directory_path() / "kernsmith-trace-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return fail(fault::infrastructure, harness::errno_text("making a folder in " + path, errno));
    private_folder made;
    made.path_ = path;
    return made;
  }
  private_folder() = default;
  private_folder(private_folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  private_folder& operator=(private_folder&&) = delete;
  ~private_folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

result<void> put(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) return fail(fault::infrastructure, fmt::format("writing {} failed; is the disk full?", file.string()));
  return {};
}

result<void> check_file(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code))
    return fail(fault::bad_request, fmt::format("{}: there is no such file; give the path of a file with a class Model", file.string()));
  if (!fs::is_regular_file(file, code)) return fail(fault::bad_request, fmt::format("{}: is no regular file", file.string()));
  if (::access(file.c_str(), R_OK) != 0)
    return fail(fault::bad_request, fmt::format("{}: can't be read; check its permissions", file.string()));
  return {};
}

std::string text_of(int descriptor) {
  std::string text;
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return text;
  text.resize(static_cast<std::size_t>(std::min<std::int64_t>(facts.st_size, max_trace_document_bytes)));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::pread(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1).substr(0, 300);
}

/// The tracer ended without its document: what stopped it.
error how_it_failed(const fs::path& file, const harness::command_result& done) {
  if (done.timed_out)
    return {fault::bad_request,
            fmt::format("{}: still runs after {} s; a problem's functions must come to an end", file.string(), trace_timeout_s)};
  if (done.memory_exceeded)
    return {fault::bad_request,
            fmt::format("{}: takes more than {} GB while it is traced; make its tensors with torch's functions in get_inputs and "
                        "in Model, and its sizes module-level constants, so that they can be traced without contents",
                        file.string(), max_trace_memory_bytes >> 30)};
  if (done.processes_exceeded)
    return {fault::bad_request, fmt::format("{}: starts more than {} processes or threads", file.string(), max_trace_processes)};
  return {fault::bad_request, fmt::format("{}: ended the process that traced it (status {}){}", file.string(), done.exit_status,
                                          done.output.empty() ? "" : "; the last it said: " + last_line(done.output))};
}

/// The workloads of a definition: a .jsonl of its name beside it. Lines are workloads, or traces that hold one.
result<json> workloads_of(const fs::path& file) {
  json all = json::array();
  if (file.extension() != ".json") return all;
  fs::path beside = file;
  beside.replace_extension(".jsonl");
  std::ifstream stream(beside);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    json entry = line.size() > max_workload_line_bytes ? json() : json::parse(line, nullptr, false);
    if (entry.is_object() && entry.contains("workload")) entry = json(entry.at("workload"));
    if (!entry.is_object() || !entry.contains("axes") || !entry.at("axes").is_object())
      return fail(fault::bad_request, fmt::format("{}:{}: is no workload: a JSON object with 'axes'", beside.string(), number));
    for (const auto& [name, extent] : entry.at("axes").items())
      if (!extent.is_number_integer() || extent.get<std::int64_t>() < 1)
        return fail(fault::bad_request, fmt::format("{}:{}: axis '{}' must be an integer of at least 1", beside.string(), number, name));
    if (all.size() == max_workload_lines)
      return fail(fault::bad_request, fmt::format("{}: more than {} workloads", beside.string(), max_workload_lines));
    all.push_back(std::move(entry));
  }
  return all;
}

result<json> run_tracer(const fs::path& file, const trace_options& options) {
  auto python = find_python();
  if (!python) return tl::unexpected(python.error());
  auto workloads = workloads_of(file);
  if (!workloads) return tl::unexpected(workloads.error());
  auto folder = private_folder::make();
  if (!folder) return tl::unexpected(folder.error());
  for (const tracer_file& part : tracer_files())
    if (auto written = put(folder->path() / part.name, part.text); !written) return tl::unexpected(written.error());
  // Not a memfd: the sandbox's limit on file sizes holds for this one, too.
  const fs::path document = folder->path() / "document.json";
  const harness::descriptor answer(::open(document.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!answer.open()) return fail(fault::infrastructure, harness::errno_text("making " + document.string(), errno));

  const std::string inside = std::string(module_inside) + "/" + file.filename().string();
  json request = {{"file", inside},
                  {"name", file.filename().string()},
                  {"descriptor", document_descriptor},
                  {"memory_bytes", max_trace_memory_bytes},
                  {"time_s", options.module_time_s},
                  {"threads", 1},
                  {"axes", options.constants},
                  {"workloads", *workloads}};
  harness::sandbox_spec spec;
  // A file, since an argument can't be that long.
  if (auto written = put(folder->path() / "request.json", request.dump()); !written) return tl::unexpected(written.error());
  spec.command = {python->program.string(), "-s", std::string(tracer_inside) + "/main.py", std::string(tracer_inside) + "/request.json"};
  spec.read_only = python->folders;
  spec.scratch = {};
  spec.read_only_at = {{folder->path(), tracer_inside}, {fs::absolute(file), inside}};
  spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                      {"HOME", "/tmp"},
                      {"TMPDIR", "/tmp"},
                      {"LC_ALL", "C.UTF-8"},
                      {"OMP_NUM_THREADS", "1"},
                      {"PYTHONDONTWRITEBYTECODE", "1"},
                      {"CUDA_VISIBLE_DEVICES", ""}};
  std::string path;
  for (const std::string& entry : python->search_path) path += (path.empty() ? "" : ":") + entry;
  spec.environment.emplace_back("PYTHONPATH", path);
  spec.descriptors = {{answer.get(), document_descriptor}};
  spec.memory_limit_bytes = max_trace_memory_bytes;
  spec.max_file_bytes = max_trace_document_bytes;
  spec.max_processes = max_trace_processes;
  const auto done = harness::run_sandboxed(spec, trace_timeout_s);
  if (!done) return tl::unexpected(done.error());
  const std::string text = text_of(answer.get());
  json traced = json::parse(text, nullptr, false);
  if (!traced.is_object()) return tl::unexpected(how_it_failed(file, *done));
  if (traced.contains("missing"))
    return fail(fault::missing_here, fmt::format("{}: PyTorch can't be imported by {} ({}); {}", file.string(), python->program.string(),
                                                 traced.value("missing", ""), remedy));
  traced["workloads"] = std::move(*workloads);
  return traced;
}

/// "file:line: message"
error refusal_of(const fs::path& file, const json& traced) {
  const json& why = traced.at("error");
  const std::int64_t line = why.value("line", std::int64_t{0});
  return {why.value("kind", "") == "bug" ? fault::bug : fault::bad_request,
          fmt::format("{}{}: {}", file.string(), line > 0 ? fmt::format(":{}", line) : "", why.value("message", "refused"))};
}

/// The file's name as the name of a problem.
std::string problem_name(const fs::path& file) {
  std::string name;
  for (const char c : file.stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
            : c == '-'                                       ? '-'
                                                             : '_';
  while (!name.empty() && (name.front() == '_' || name.front() == '-')) name.erase(name.begin());
  return name.empty() ? "module" : name.substr(0, max_name_length);
}

problem_heading heading_of(const fs::path& file, const json& traced) {
  problem_heading heading;
  heading.name = problem_name(file);
  heading.source = file.stem().string() + ".py";
  for (const auto& [axis, facts] : traced.at("axes").items()) {
    heading.axes[axis] = facts.at("extent").get<std::int64_t>();
    heading.constants[axis] = facts.at("constant").get<std::string>();
  }
  for (const auto& [constant, value] : traced.at("overrides").items()) {
    const auto is_axis = [&](const auto& entry) { return entry.second == constant; };
    if (std::none_of(heading.constants.begin(), heading.constants.end(), is_axis))
      heading.overrides[constant] = value.template get<std::int64_t>();
  }
  for (const json& workload : traced.at("workloads")) {
    std::map<std::string, std::int64_t> axes;
    for (const auto& [name, extent] : workload.at("axes").items())
      if (heading.axes.count(name) != 0) axes[name] = extent.get<std::int64_t>();
    // What is no axis is fixed as the first workload has it.
    if (axes.size() != workload.at("axes").size() && !heading.workloads.empty()) continue;
    if (std::find(heading.workloads.begin(), heading.workloads.end(), axes) == heading.workloads.end())
      heading.workloads.push_back(std::move(axes));
  }
  return heading;
}

/// What the module's text stands in while its problem is read: the file's own folder, or for a definition one that has the module made for
/// it.
result<problem> parsed(const std::string& text, const fs::path& file, const json& traced, const std::string& source) {
  if (!traced.at("module_text").is_string()) return parse_problem(text, file);
  auto folder = private_folder::make();
  if (!folder) return tl::unexpected(folder.error());
  if (auto written = put(folder->path() / source, traced.at("module_text").get<std::string>()); !written)
    return tl::unexpected(written.error());
  auto task = parse_problem(text, folder->path() / file.filename());
  if (!task) return task;
  task->path = file;
  task->module->source.path = fs::absolute(file).parent_path() / source;
  return task;
}

/// Sums in blocks and lanes, as every fast kernel makes them, err by so much of what default tolerances allow for plain ones.
constexpr double error_of_blocks = 1.0 / 16;

/// KernelBench's absolute tolerance, or where rounding alone goes further (sums of very many terms that cancel) what that takes, rounded
/// up. Without it right kernels would now and then count as wrong, PyTorch's own among them.
std::string with_room_for_rounding(std::string text, problem task) {
  if (task.compare.mode != compare_mode::allclose) return text;
  const std::string written = fmt::format("\natol = {}\n", task.compare.atol < 1e-3 ? "1e-4" : "1e-2");
  const std::size_t at = text.find(written);
  double needed = task.compare.atol;
  task.compare.written = false;
  for (const int output : task.outputs())
    for (const workload& w : task.workloads)
      if (is_float(task.tensors[static_cast<std::size_t>(output)].type))
        needed = std::max(needed, error_of_blocks * compare_for(task, output, w.axes).atol);
  if (at == std::string::npos || needed <= task.compare.atol) return text;
  const double unit = std::pow(10.0, std::floor(std::log10(needed)));
  return text.replace(at, written.size(), fmt::format("\natol = {:.0e}\n", std::ceil(needed / unit) * unit));
}

result<traced_module> module_of(const fs::path& file, const json& traced) {
  if (traced.contains("error")) return tl::unexpected(refusal_of(file, traced));
  traced_module made;
  try {
    const problem_heading heading = heading_of(file, traced);
    auto text = problem_text(traced.at("problem"), heading);
    if (!text) return fail(text.error().kind, fmt::format("{}: {}", file.string(), text.error().message));
    made.text = std::move(*text);
    auto task = parsed(made.text, file, traced, heading.source);
    if (!task) return fail(task.error().kind, fmt::format("the problem made from it is refused: {}", task.error().message));
    made.task = std::move(*task);
    if (std::string roomy = with_room_for_rounding(made.text, made.task); roomy != made.text) {
      auto again = parsed(roomy, file, traced, heading.source);
      if (!again) return fail(again.error().kind, fmt::format("the problem made from it is refused: {}", again.error().message));
      made.text = std::move(roomy);
      made.task = std::move(*again);
    }
    auto proof = prove_trace(made.task, file, traced.at("proof"));
    if (!proof) return tl::unexpected(proof.error());
    made.samples = proof->samples;
    made.largest_difference = proof->largest_difference;
    made.import_s = traced.value("seconds", json::object()).value("import", 0.0);
    made.trace_s = traced.value("seconds", json::object()).value("trace", 0.0);
  } catch (const json::exception& e) {
    return fail(fault::bad_request, fmt::format("{}: what its process wrote as its trace is none ({})", file.string(), e.what()));
  }
  return made;
}

std::string gigabytes(double bytes) {
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

/// The axis whose halving saves most; none where no axis can be halved.
int heaviest_axis(const problem& p, const std::vector<std::int64_t>& axes) {
  int best = -1;
  double least = workload_bytes(p, axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 4) continue;
    std::vector<std::int64_t> halved = axes;
    halved[i] /= 2;
    if (const double bytes = workload_bytes(p, halved); bytes < least) best = static_cast<int>(i), least = bytes;
  }
  return best;
}

std::string axes_text(const problem& p) {
  std::string text;
  for (const axis& a : p.axes) text += fmt::format(" --axis {}={}", a.name, a.extent);
  return text;
}

}  // namespace

bool is_module_file(const fs::path& file) {
  return file.extension() == ".py" || file.extension() == ".json";
}

double workload_bytes(const problem& p, const std::vector<std::int64_t>& axes) {
  double bytes = 0;
  for (const tensor_declaration& t : p.tensors) {
    if (t.role == tensor_role::intermediate) continue;
    double elements = 1;
    for (const dim& d : t.shape) elements *= static_cast<double>(extent_of(d, axes));
    bytes += elements * static_cast<double>(size_of(t.type)) + (t.role == tensor_role::output ? 8 * elements : 0);
  }
  return bytes;
}

result<traced_module> trace_module(const fs::path& file, const trace_options& options) {
  if (auto there = check_file(file); !there) return tl::unexpected(there.error());
  auto traced = run_tracer(file, options);
  if (!traced) return tl::unexpected(traced.error());
  auto made = module_of(file, *traced);
  if (!made || options.memory_bytes == 0) return made;
  std::vector<std::int64_t> axes = made->task.workloads.front().axes;
  const double whole = workload_bytes(made->task, axes), most = static_cast<double>(options.memory_bytes);
  if (whole <= most) return made;
  if (!options.fit)
    return fail(fault::bad_request,
                fmt::format("{}: one workload needs {} for inputs, outputs and reference, and {} may be taken here; choose smaller "
                            "sizes (now{}), or let --fit choose them",
                            file.string(), gigabytes(whole), gigabytes(most), axes_text(made->task)));
  std::map<std::string, std::int64_t> constants = options.constants;
  std::string changes;
  for (int round = 0; round < max_fitting_rounds && workload_bytes(made->task, axes) > most; ++round) {
    const int heavy = heaviest_axis(made->task, axes);
    if (heavy < 0)
      return fail(fault::bad_request, fmt::format("{}: one workload needs {}, and none of its axes ({}) makes it fit into {}",
                                                  file.string(), gigabytes(whole), axes_text(made->task), gigabytes(most)));
    axes[static_cast<std::size_t>(heavy)] /= 2;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const axis& a = made->task.axes[i];
    if (axes[i] == a.extent) continue;
    constants[made->task.module->constants.at(a.name)] = axes[i];
    changes += fmt::format("{}{} {} -> {}", changes.empty() ? "" : ", ", a.name, a.extent, axes[i]);
  }
  trace_options reduced = options;
  reduced.constants = constants;
  reduced.fit = false;
  auto fitting = trace_module(file, reduced);
  if (fitting)
    fitting->notes.push_back(
        fmt::format("{} needs {} and {} may be taken here: {}", file.string(), gigabytes(whole), gigabytes(most), changes));
  return fitting;
}

}  // namespace kernsmith::pytorch
