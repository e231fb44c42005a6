// A target file becomes a target: tables in their order, each key checked where it stands.
#include "config/external_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "config/hash.hpp"
#include "config/refusal.hpp"
#include "config/table_reader.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_target_file_bytes = std::size_t{1} << 20;
constexpr std::size_t max_steps = 16, max_arguments = 256, max_paths = 32;
constexpr double max_timeout_s = 3600;
constexpr std::int64_t most_mib = std::int64_t{1} << 20, most_alignment = std::int64_t{1} << 21, most_calls = 4096;
constexpr std::string_view schema = "kernsmith.target/1";

const std::vector<std::string> sections = {"schema", "name", "description", "language",  "dialect",   "setup",
                                           "build",  "run",  "device",      "objective", "knowledge", "profile"};
const std::vector<std::string> build_placeholders = {"source", "output", "work", "target"};
const std::vector<std::string> run_placeholders = {"output", "work", "target"};
const std::vector<std::string> version_placeholders = {"target"};

template <class T>
using word_list = std::vector<std::pair<std::string, T>>;

/// One of a few words.
template <class T>
T read_word(const toml_value& value, const std::string& what, const word_list<T>& known) {
  const std::string& word = as_text(value, what);
  std::vector<std::string> names;
  for (const auto& [name, meaning] : known) {
    if (name == word) return meaning;
    names.push_back(name);
  }
  refuse(value.place, fmt::format("unknown {} '{}'{}; known: {}", what, word, did_you_mean(word, names), fmt::join(names, ", ")));
}

/// {name} must be known; braces are doubled to stand for themselves.
void check_placeholders(const std::string& argument, source_place place, const std::string& what, const std::vector<std::string>& known) {
  for (std::size_t at = 0; at < argument.size(); ++at) {
    if (argument[at] != '{' && argument[at] != '}') continue;
    if (at + 1 < argument.size() && argument[at + 1] == argument[at]) {
      ++at;
      continue;
    }
    const std::size_t end = argument.find('}', at);
    if (argument[at] == '}' || end == std::string::npos)
      refuse(place, fmt::format("a brace without its partner in {}; write {{{{ or }}}} for a brace that stands for itself", what));
    const std::string name = argument.substr(at + 1, end - at - 1);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse(place, fmt::format("unknown placeholder {{{}}} in {}{}; known here: {{{}}}", name, what, did_you_mean(name, known),
                                fmt::join(known, "}, {")));
    }
    at = end;
  }
}

command_template read_command(const toml_value& value, const std::string& what, const std::vector<std::string>& placeholders) {
  require_array(value, what);
  if (value.items.empty()) refuse(value.place, fmt::format("{} is empty; it needs a program", what));
  if (value.items.size() > max_arguments) refuse(value.place, fmt::format("{} has more than {} words", what, max_arguments));
  command_template command;
  for (const toml_value& item : value.items) {
    const std::string& argument = as_text(item, "a word of " + what);
    check_placeholders(argument, item.place, what, placeholders);
    command.push_back(argument);
  }
  if (command.front().empty()) refuse(value.items.front().place, fmt::format("{} begins with an empty word", what));
  return command;
}

void require_placeholder(const toml_value& value, const std::string& what, const std::vector<command_template>& commands,
                         const std::string& name) {
  const std::string wanted = "{" + name + "}";
  for (const command_template& command : commands) {
    for (const std::string& word : command) {
      if (word.find(wanted) != std::string::npos) return;
    }
  }
  refuse(value.place, fmt::format("{} never mentions {}", what, wanted));
}

double read_timeout(const table_reader& table, double otherwise) {
  const double seconds = table.number("timeout_s", otherwise);
  if (!(seconds > 0) || seconds > max_timeout_s)
    refuse(table.place_of("timeout_s"),
           fmt::format("timeout_s in {} is {}; it must be above 0 and at most {}", table.what(), seconds, max_timeout_s));
  return seconds;
}

std::int64_t read_bounded(const table_reader& table, std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const std::int64_t value = table.integer(key, otherwise);
  if (value < least || value > most)
    refuse(table.place_of(key), fmt::format("'{}' in {} is {}; it must be from {} to {}", key, table.what(), value, least, most));
  return value;
}

double read_peak(const table_reader& table, std::string_view key) {
  const double value = table.number(key, 0);
  if (value < 0) refuse(table.place_of(key), fmt::format("'{}' in {} is negative", key, table.what()));
  return value;
}

fs::path existing_path(const toml_value& value, const std::string& what, const fs::path& folder) {
  const std::string& written = as_text(value, what);
  const fs::path path = fs::absolute(folder / written).lexically_normal();
  std::error_code code;
  if (!fs::exists(path, code))
    refuse(value.place,
           fmt::format("{} '{}' does not exist (looked for {}); paths are relative to the target file", what, written, path.string()));
  return path;
}

std::vector<fs::path> read_paths(const table_reader& table, std::string_view key, const fs::path& folder) {
  std::vector<fs::path> paths;
  const toml_value* value = table.find(key);
  if (value == nullptr) return paths;
  const std::string what = fmt::format("'{}' in {}", key, table.what());
  require_array(*value, what);
  if (value->items.size() > max_paths) refuse(value->place, fmt::format("{} has more than {} entries", what, max_paths));
  for (const toml_value& item : value->items) {
    paths.push_back(existing_path(item, "a path of " + what, folder));
    if (paths.back() == paths.back().root_path()) refuse(item.place, fmt::format("{} may not open the whole file system", what));
  }
  return paths;
}

command_template read_version(const table_reader& table) {
  const toml_value* version = table.find("version");
  return version == nullptr ? command_template{} : read_command(*version, "'version' in " + table.what(), version_placeholders);
}

external_build read_build(const toml_value& value, const fs::path& folder) {
  const table_reader table(value, "[build]", {"steps", "timeout_s", "version", "read_only"});
  external_build build;
  const toml_value& steps = table.need("steps", R"(steps = [["cc", "-O3", "{source}", "-o", "{output}"]])");
  require_array(steps, "'steps' in [build]");
  if (steps.items.empty() || steps.items.size() > max_steps)
    refuse(steps.place, fmt::format("'steps' in [build] needs between 1 and {} commands", max_steps));
  for (const toml_value& step : steps.items) build.steps.push_back(read_command(step, "a step of [build]", build_placeholders));
  require_placeholder(steps, "'steps' in [build]", build.steps, "source");
  require_placeholder(steps, "'steps' in [build]", build.steps, "output");
  build.timeout_s = read_timeout(table, build.timeout_s);
  build.version = read_version(table);
  build.read_only = read_paths(table, "read_only", folder);
  return build;
}

void read_environment(const table_reader& table, external_run& run) {
  const toml_value* environment = table.find("environment");
  if (environment == nullptr) return;
  require_table(*environment, "'environment' in [run]");
  for (std::size_t i = 0; i < environment->items.size(); ++i)
    run.environment.emplace_back(environment->keys[i], as_text(environment->items[i], "a value of 'environment' in [run]"));
}

external_run read_run(const toml_value& value, const fs::path& folder) {
  const table_reader table(value, "[run]",
                           {"command", "timeout_s", "version", "report", "memory_mib", "alignment", "host_memory_mib", "max_calls",
                            "read_only", "devices", "environment"});
  external_run run;
  const toml_value& command = table.need("command", R"(command = ["simulator", "{output}"])");
  run.command = read_command(command, "'command' in [run]", run_placeholders);
  require_placeholder(command, "'command' in [run]", {run.command}, "output");
  run.timeout_s = read_timeout(table, run.timeout_s);
  run.version = read_version(table);
  run.report = table.text("report", run.report);
  if (run.report.empty() || run.report.find('/') != std::string::npos)
    refuse(table.place_of("report"), "'report' in [run] names a file in the call folder, or \"stdout\"");
  constexpr std::int64_t mib = 1 << 20;
  run.memory_bytes = mib * read_bounded(table, "memory_mib", run.memory_bytes / mib, 1, most_mib);
  run.host_memory_bytes = mib * read_bounded(table, "host_memory_mib", run.host_memory_bytes / mib, 1, most_mib);
  run.alignment = read_bounded(table, "alignment", run.alignment, 1, most_alignment);
  if ((run.alignment & (run.alignment - 1)) != 0) refuse(table.place_of("alignment"), "'alignment' in [run] must be a power of two");
  run.max_calls = read_bounded(table, "max_calls", run.max_calls, 1, most_calls);
  run.read_only = read_paths(table, "read_only", folder);
  run.devices = read_paths(table, "devices", folder);
  read_environment(table, run);
  return run;
}

external_objective read_objective(const toml_value& value) {
  const table_reader table(value, "[objective]", {"counter", "unit", "deterministic"});
  external_objective objective;
  const toml_value& counter = table.need("counter", "counter = \"cycles\"");
  objective.counter = as_text(counter, "'counter' in [objective]");
  if (!is_valid_name(objective.counter))
    refuse(counter.place, fmt::format("'{}' can't name a counter; use lower-case letters, digits, '_' and '-'", objective.counter));
  objective.unit = table.text("unit", objective.counter);
  if (const toml_value* fixed = table.find("deterministic")) {
    if (fixed->which != toml_value::kind::boolean) refuse(fixed->place, "'deterministic' in [objective] must be true or false");
    objective.deterministic = fixed->boolean;
  }
  return objective;
}

external_device read_device(const toml_value& value) {
  const table_reader table(value, "[device]", {"name", "bytes_per_unit", "operations_per_unit", "vector_bytes", "max_group"});
  external_device device;
  device.name = table.text("name", "");
  device.bytes_per_unit = read_peak(table, "bytes_per_unit");
  device.operations_per_unit = read_peak(table, "operations_per_unit");
  device.vector_bytes = read_bounded(table, "vector_bytes", 0, 0, 1 << 20);
  device.max_group = read_bounded(table, "max_group", 1, 1, 64);
  return device;
}

/// The file and its neighbours: a harness or a linker script that changed makes other kernels of the same sources.
std::string hash_of_folder(const fs::path& folder, const std::string& text) {
  constexpr std::size_t max_files = 1000;
  constexpr std::uintmax_t max_file_bytes = 64u << 20;
  std::vector<fs::path> files;
  std::error_code failed;
  for (auto it = fs::recursive_directory_iterator(folder, failed);
       !failed && it != fs::recursive_directory_iterator() && files.size() < max_files; it.increment(failed)) {
    if (it->is_regular_file(failed) && it->file_size(failed) <= max_file_bytes) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  std::string all = text;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    all += fmt::format("\n{} {}", file.lexically_relative(folder).string(), content_hash(bytes));
  }
  return content_hash(all);
}

external_target build_target(const std::string& text, const fs::path& file) {
  const toml_value document = parse_toml(text);
  const table_reader root(document, "the target file", sections);
  external_target t;
  t.path = fs::absolute(file).lexically_normal();
  t.folder = t.path.parent_path();
  const toml_value& version = root.need("schema", "schema = \"kernsmith.target/1\"");
  if (as_text(version, "'schema'") != schema)
    refuse(version.place, fmt::format("schema '{}' is not known here; this version reads {}", version.text, schema));
  const toml_value& name = root.need("name", "name = \"my-accelerator\"");
  t.name = as_text(name, "'name'");
  if (!is_valid_name(t.name))
    refuse(name.place, fmt::format("'{}' can't name a target; use lower-case letters, digits, '_' and '-'", t.name));
  t.description = root.text("description", "");
  t.setup = root.text("setup", "");
  t.language = read_word<target_language>(root.need("language", "language = \"c\""), "language",
                                          {{"c", target_language::c}, {"cpp", target_language::cpp}});
  if (const toml_value* dialect = root.find("dialect"))
    t.dialect = read_word<target_dialect>(*dialect, "dialect", {{"plain", target_dialect::plain}, {"rvv-1.0", target_dialect::rvv}});
  t.build = read_build(root.need("build", "[build]"), t.folder);
  t.run = read_run(root.need("run", "[run]"), t.folder);
  t.objective = read_objective(root.need("objective", "[objective]"));
  if (const toml_value* device = root.find("device")) t.device = read_device(*device);
  if (t.device.name.empty()) t.device.name = t.name;
  if (t.dialect == target_dialect::rvv && t.device.vector_bytes == 0)
    refuse(root.place_of("dialect"), "dialect \"rvv-1.0\" needs 'vector_bytes' in [device]: the bytes of one vector register");
  if (const toml_value* profile = root.find("profile")) {
    const table_reader table(*profile, "[profile]", {"command"});
    t.profile = read_command(table.need("command", R"(command = ["profiler", "{output}"])"), "'command' in [profile]", run_placeholders);
  }
  if (const toml_value* knowledge = root.find("knowledge")) {
    const table_reader table(*knowledge, "[knowledge]", {"folder"});
    const toml_value& folder = table.need("folder", "folder = \"knowledge\"");
    t.knowledge = existing_path(folder, "the knowledge folder", t.folder);
    if (!fs::is_directory(t.knowledge)) refuse(folder.place, fmt::format("{} is no folder", t.knowledge.string()));
  }
  t.hash = hash_of_folder(t.folder, text);
  return t;
}

}  // namespace

std::string name_of(target_language language) {
  return language == target_language::c ? "c" : "cpp";
}

std::string suffix_of(target_language language) {
  return "." + name_of(language);
}

result<external_target> parse_external_target(const std::string& text, const fs::path& file) {
  if (text.size() > max_target_file_bytes)
    return fail(fault::bad_request, fmt::format("{}: larger than {} bytes; this is no target file", file.string(), max_target_file_bytes));
  if (!is_valid_utf8(text)) return fail(fault::bad_request, fmt::format("{}: not UTF-8 text; save the file as UTF-8", file.string()));
  try {
    return build_target(text, file);
  } catch (const refusal& r) {
    return fail(fault::bad_request, place_message(file.string(), r.place, r.message));
  } catch (const fs::filesystem_error& e) {
    return fail(fault::bad_request, fmt::format("{}: {}", file.string(), e.what()));
  }
}

result<external_target> load_external_target(const fs::path& file) {
  std::error_code code;
  if (!fs::is_regular_file(file, code))
    return fail(fault::bad_request, fmt::format("{}: there is no such file; give the path of a target file (.toml)", file.string()));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail(fault::bad_request, fmt::format("{}: can't be read; check its permissions", file.string()));
  std::string text(max_target_file_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_external_target(text, file);
}

std::vector<fs::path> external_target_folders() {
  std::vector<fs::path> folders;
  if (const char* set = std::getenv("KERNSMITH_TARGETS"); set != nullptr) {
    const std::string list = set;
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(':', begin), list.size());
      if (end > begin) folders.emplace_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  // Those that come along: docs/examples/external of the checkout or installation around the program.
  std::error_code failed;
  fs::path above = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (int level = 0; level < 4 && !above.empty() && above != above.root_path(); ++level, above = above.parent_path()) {
    for (const char* place : {"docs/examples/external", "share/docs/examples/external"}) {
      if (fs::is_directory(above / place, failed)) folders.push_back(above / place);
    }
  }
#ifdef KERNSMITH_SHIPPED_TARGETS
  if (fs::is_directory(KERNSMITH_SHIPPED_TARGETS, failed)) folders.emplace_back(KERNSMITH_SHIPPED_TARGETS);
#endif
  return folders;
}

std::map<std::string, fs::path> registered_external_targets() {
  std::map<std::string, fs::path> known;
  for (const fs::path& folder : external_target_folders()) {
    std::error_code failed;
    std::map<std::string, fs::path> here;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const fs::path& path = entry.path();
      if (entry.is_directory(failed) && fs::is_regular_file(path / "target.toml", failed))
        here[path.filename().string()] = path / "target.toml";
    }
    known.merge(here);
  }
  return known;
}

}  // namespace kernsmith
