#include "support.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "config/hash.hpp"

namespace kernsmith::agents::testing {
namespace {

/// Gone with the test program.
class build_folder {
 public:
  build_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-agents-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~build_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  build_folder(const build_folder&) = delete;
  build_folder& operator=(const build_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string first_lines(const std::filesystem::path& file, int count) {
  std::ifstream in(file);
  std::string text, line;
  for (int i = 0; i < count && std::getline(in, line); ++i) text += line + "\n";
  return text;
}

}  // namespace

problem problem_from(const std::string& toml) {
  result<problem> p = parse_problem(toml, "test.toml");
  if (!p) FAIL(p.error().message);
  return std::move(*p);
}

problem problem_from(const std::string& tensors, const std::string& definition) {
  return problem_from("name = \"test\"\n" + tensors + "\n[definition]\ntext = \"\"\"\n" + definition + "\n\"\"\"\n");
}

problem small_problem(const std::string& axes, const std::string& tensors, const std::string& definition) {
  std::string toml = "[axes]\n", word, line;
  std::istringstream axis_words(axes), lines(tensors);
  while (axis_words >> word) toml += word.substr(0, word.find('=')) + " = " + word.substr(word.find('=') + 1) + "\n";
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string role, name, type, more;
    if (!(words >> role >> name >> type)) continue;
    std::getline(words, more);
    const std::size_t bracket = type.find('[');
    std::string shape;
    std::istringstream dims(type.substr(bracket + 1, type.size() - bracket - 2));
    while (std::getline(dims, word, ','))
      shape += (shape.empty() ? "" : ", ") + (std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? word : "\"" + word + "\"");
    const std::string table = role == "in" ? "inputs" : role == "out" ? "outputs" : "intermediates";
    toml += fmt::format("[{}.{}]\n", table, name);
    if (role != "mid") toml += fmt::format("shape = [{}]\n", shape);
    toml += fmt::format("dtype = \"{}\"\n{}\n", type.substr(0, bracket), more);
  }
  return problem_from(toml, definition);
}

machine_model small_machine() {
  machine_model machine = describe_host(2);
  machine.l1_bytes = 32 << 10;
  machine.l2_bytes = 256 << 10;
  machine.l3_bytes = 2 << 20;
  return machine;
}

namespace {

std::string compiler() {
  const char* chosen = std::getenv("KERNSMITH_CXX");
  return chosen != nullptr ? chosen : "g++";
}

std::string flags_for(const std::string& march) {
  return fmt::format("-O1 -march={} -fopenmp -fPIC -I'{}/backends/harness'", march, KERNSMITH_SOURCE_DIR);
}

/// "-include ..." of a precompiled header with what every kernel includes, which halves the time of a compilation; empty while so few
/// kernels were compiled that making the header wouldn't pay.
std::string precompiled_headers(const std::filesystem::path& folder, const std::string& march) {
  constexpr int pays_from = 4;
  static std::map<std::string, int> compilations;
  const std::filesystem::path header = folder / march / "kernel_headers.h";
  if (const int count = ++compilations[march]; count < pays_from)
    return "";
  else if (count == pays_from) {
    std::filesystem::create_directory(folder / march);
    std::ofstream(header)
        << "#include <immintrin.h>\n#include <omp.h>\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdlib>\n"
           "#include <cstring>\n#include <limits>\n#include <type_traits>\n";
    const std::string command = fmt::format("{0} {1} -x c++-header '{2}' -o '{2}.gch'", compiler(), flags_for(march), header.string());
    if (std::system(command.c_str()) != 0) return "";
  }
  return fmt::format("-include '{}'", header.string());
}

}  // namespace

result<std::filesystem::path> compile_kernel(const std::string& source, const std::string& march) {
  static const build_folder folder;
  static std::map<std::string, std::filesystem::path> built;
  const std::string key = content_hash(march + "\n" + source);
  if (const auto found = built.find(key); found != built.end()) return found->second;
  const std::filesystem::path text = folder.path() / (key + ".cpp"), library = folder.path() / (key + ".so"),
                              log = folder.path() / (key + ".log");
  std::ofstream(text) << source;
  const std::string command = fmt::format("{} {} {} -shared '{}' -o '{}' > '{}' 2>&1", compiler(), flags_for(march),
                                          precompiled_headers(folder.path(), march), text.string(), library.string(), log.string());
  if (std::system(command.c_str()) != 0) return fail(fault::bug, first_lines(log, 12));
  return built[key] = library;
}

assignment random_assignment(const generator& g, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  assignment wanted;
  for (const decision& d : g.space().decisions) wanted[d.name] = d.values[random() % d.values.size()];
  return g.normalise(wanted);
}

void check_generator(const problem& p, const generator& g, const std::vector<std::vector<std::int64_t>>& shapes, int random_count,
                     const run_options& options) {
  for (int n = 0; n <= random_count; ++n) {
    const assignment chosen =
        n == 0 ? preferred_assignment(g.space()) : random_assignment(g, options.seed * 1000 + static_cast<std::uint64_t>(n));
    const result<proposal> made = g.generate(chosen);
    if (!made) {
      FAIL_CHECK(made.error().message);
      continue;
    }
    const std::string decisions = describe(g.space(), made->decisions);
    CAPTURE(decisions);
    const result<std::filesystem::path> library = compile_kernel(made->source);
    if (!library) {
      FAIL_CHECK("does not compile:\n" << library.error().message);
      continue;
    }
    for (const std::vector<std::int64_t>& axes : shapes) {
      const std::string wrong = check_kernel(p, *library, axes, options);
      const std::string shape = fmt::format("{}", fmt::join(axes, " "));
      CAPTURE(shape);
      CHECK(wrong == "");
    }
  }
}

std::vector<std::string> grammars_of(const rules_generator& g) {
  std::vector<std::string> names;
  for (const planned_run& run : g.groups().runs)
    for (const planned_group& planned : run.ways[0]) names.emplace_back(planned.grammar->name());
  return names;
}

std::unique_ptr<rules_generator> generator_with(const problem& p, std::unique_ptr<group_grammar> grammar, const machine_model& machine) {
  grammar_list grammars;
  if (grammar) grammars.push_back(std::move(grammar));
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, machine, std::move(grammars));
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

}  // namespace kernsmith::agents::testing
