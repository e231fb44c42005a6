#include "triton_cases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>

#include "agents/synthesis/triton/triton_grammar.hpp"
#include "config/interpreter.hpp"

namespace kernsmith::fixtures {
namespace {

using bytes = std::vector<unsigned char>;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Draws an input's elements.
class value_source {
 public:
  value_source(const tensor_declaration& tensor, const std::vector<std::int64_t>& axes, std::uint64_t seed, bool special_values)
      : tensor_(tensor), axes_(axes), random_(seed), special_values_(special_values) {}

  double next(std::int64_t element) {
    if (!tensor_.index_limits.empty()) {
      std::int64_t limit = std::numeric_limits<std::int64_t>::max();
      for (const dim& d : tensor_.index_limits) limit = std::min(limit, extent_of(d, axes_));
      return integer(0, limit - 1);
    }
    if (tensor_.type == dtype::boolean) return static_cast<double>(random_() & 1);
    if (special_values_ && is_float(tensor_.type) && random_() % 16 == 0) return special();
    return from(tensor_.init, element);
  }

 private:
  double uniform(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random_); }
  double integer(std::int64_t lo, std::int64_t hi) {
    return static_cast<double>(std::uniform_int_distribution<std::int64_t>(lo, hi)(random_));
  }

  double special() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double choices[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1e30, -1e30, 0.0, -0.0};
    return choices[random_() % std::size(choices)];
  }

  double from(const init_spec& init, std::int64_t element) {
    switch (init.which) {
      case init_spec::kind::normal:
        return std::normal_distribution<double>(init.mean, init.std)(random_);
      case init_spec::kind::uniform:
        return uniform(init.lo, init.hi);
      case init_spec::kind::integers:
        return integer(static_cast<std::int64_t>(init.lo), static_cast<std::int64_t>(init.hi));
      case init_spec::kind::zipf:
        return integer(0, std::max<std::int64_t>(init.n, 1) - 1);
      case init_spec::kind::constant:
        return init.value;
      case init_spec::kind::arange:
        return init.start + init.step * static_cast<double>(element);
      case init_spec::kind::sorted:
        return from(init.of.front(), element);
      case init_spec::kind::file:
        return 0;
    }
    return 0;
  }

  const tensor_declaration& tensor_;
  const std::vector<std::int64_t>& axes_;
  std::mt19937_64 random_;
  bool special_values_;
};

tensor_values fill(bytes& raw, const tensor_declaration& tensor, const std::vector<std::int64_t>& axes, std::uint64_t seed, bool special) {
  value_source source(tensor, axes, seed, special);
  const std::vector<std::int64_t> shape = shape_of(tensor, axes);
  const std::int64_t count = element_count(shape);
  std::vector<double> drawn;
  for (std::int64_t i = 0; i < count; ++i) drawn.push_back(source.next(i));
  if (tensor.init.which == init_spec::kind::sorted) {
    const std::int64_t row = shape.empty() ? 1 : shape.back();
    for (std::int64_t at = 0; at < count; at += row) std::sort(drawn.begin() + at, drawn.begin() + at + row);
  }
  raw.resize(static_cast<std::size_t>(count) * size_of(tensor.type));
  tensor_values values;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    store_from_double(raw.data(), i, tensor.type, drawn[i]);
    if (is_float(tensor.type))
      values.real.push_back(load_as_double(raw.data(), i, tensor.type));
    else
      values.integer.push_back(load_as_int64(raw.data(), i, tensor.type));
  }
  return values;
}

std::string compare(const tensor_declaration& tensor, const std::string& raw, const tensor_values& expected, const compare_spec& how) {
  const std::size_t count = is_float(tensor.type) ? expected.real.size() : expected.integer.size();
  if (raw.size() != count * size_of(tensor.type)) return fmt::format("{}: {} bytes were written", tensor.name, raw.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_float(tensor.type)) {
      std::int64_t want = 0;
      store_from_int64(&want, 0, tensor.type, expected.integer[i]);
      want = load_as_int64(&want, 0, tensor.type);
      const std::int64_t have = load_as_int64(raw.data(), i, tensor.type);
      if (have != want) return fmt::format("{}[{}] is {}, not {}", tensor.name, i, have, want);
      continue;
    }
    const double want = round_through(expected.real[i], tensor.type), have = load_as_double(raw.data(), i, tensor.type);
    const bool near = how.mode != compare_mode::bitwise && std::fabs(have - want) <= how.atol + how.rtol * std::fabs(want);
    if (!(std::isnan(want) ? std::isnan(have) : want == have || near))
      return fmt::format("{}[{}] is {:.9g}, not {:.9g}", tensor.name, i, have, want);
  }
  return "";
}

}  // namespace

std::filesystem::path triton_python() {
  static const std::filesystem::path found = []() -> std::filesystem::path {
    const char* given = std::getenv("KERNSMITH_PYTHON");
    const std::string python = given != nullptr ? given : "python3";
    const std::string command = fmt::format("'{}' -c 'import torch, triton' > /dev/null 2>&1", python);
    return std::system(command.c_str()) == 0 ? std::filesystem::path(python) : std::filesystem::path();
  }();
  return found;
}

bool skipped() {
  if (triton_python().empty()) MESSAGE("SKIPPED: there is no Python with PyTorch and Triton; KERNSMITH_PYTHON names one");
  return triton_python().empty();
}

problem problem_from(const std::string& toml) {
  result<problem> p = parse_problem(toml, "test.toml");
  if (!p) FAIL(p.error().message);
  return std::move(*p);
}

problem small_problem(const std::string& axes, const std::string& tensors, const std::string& definition) {
  std::string toml = "name = \"test\"\n[axes]\n", word, line;
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
    toml += fmt::format("[{}.{}]\n", role == "in" ? "inputs" : role == "out" ? "outputs" : "intermediates", name);
    if (role != "mid") toml += fmt::format("shape = [{}]\n", shape);
    toml += fmt::format("dtype = \"{}\"\n{}\n", type.substr(0, bracket), more);
  }
  return problem_from(toml + "\n[definition]\ntext = \"\"\"\n" + definition + "\n\"\"\"\n");
}

struct case_list::one {
  std::filesystem::path folder;
  std::string title;
  problem task;
  std::vector<std::int64_t> axes;
  std::vector<tensor_values> values;
};

case_list::case_list() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-triton-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
}

case_list::~case_list() {
  std::error_code ignored;
  if (std::getenv("KERNSMITH_KEEP_CASES") == nullptr) std::filesystem::remove_all(folder_, ignored);
}

void case_list::add(const problem& p, const std::vector<std::int64_t>& axes, int mixtures, bool special_values) {
  const auto made = agents::triton::make_triton_rules_generator(p);
  if (!made) {
    FAIL_CHECK(p.name << ": " << made.error().message);
    return;
  }
  const std::vector<agents::decision>& decisions = (*made)->space().decisions;
  for (int mixture = 0; mixture <= mixtures; ++mixture) {
    agents::assignment chosen = agents::preferred_assignment((*made)->space());
    for (std::size_t k = 0; mixture > 0 && k < decisions.size(); ++k) {
      const agents::decision& d = decisions[k];
      chosen[d.name] = d.values[(d.preferred + static_cast<std::size_t>(mixture) * (2 * k + 1)) % d.values.size()];
      // Interpreted, a program takes milliseconds.
      if (d.name.ends_with(".split")) chosen[d.name] = std::min<std::int64_t>(chosen[d.name], 4);
      if (d.name.ends_with(".rows")) chosen[d.name] = std::max<std::int64_t>(chosen[d.name], 4);
    }
    add(p, **made, chosen, axes, special_values);
  }
}

void case_list::add(const problem& p, const agents::generator& g, const agents::assignment& chosen, const std::vector<std::int64_t>& axes,
                    bool special_values) {
  const result<agents::proposal> proposed = g.generate(chosen);
  if (!proposed) {
    FAIL_CHECK(p.name << ": " << proposed.error().message);
    return;
  }
  one made{folder_ / fmt::format("{:04}", cases_.size()), "", p, axes, std::vector<tensor_values>(p.tensors.size())};
  made.title = fmt::format("{} {} at {}", p.name, agents::describe(g.space(), proposed->decisions), fmt::join(axes, " "));
  std::filesystem::create_directories(made.folder);
  std::ofstream(made.folder / "source.py") << proposed->source;
  std::string inputs, outputs;
  const auto describe = [&](int id) {
    const tensor_declaration& tensor = p.tensors[static_cast<std::size_t>(id)];
    return fmt::format(R"({{"file": "{}.raw", "dtype": "{}", "shape": [{}]}})", id, name_of(tensor.type),
                       fmt::join(shape_of(tensor, axes), ", "));
  };
  for (const int id : p.inputs()) {
    bytes raw;
    made.values[static_cast<std::size_t>(id)] =
        fill(raw, p.tensors[static_cast<std::size_t>(id)], axes, 7919 + static_cast<std::uint64_t>(id), special_values);
    std::ofstream(made.folder / fmt::format("{}.raw", id), std::ios::binary)
        .write(reinterpret_cast<const char*>(raw.data()), static_cast<std::streamsize>(raw.size()));
    inputs += (inputs.empty() ? "" : ", ") + describe(id);
  }
  for (const int id : p.outputs()) outputs += (outputs.empty() ? "" : ", ") + describe(id);
  std::ofstream(made.folder / "case.json") << fmt::format(R"({{"inputs": [{}], "outputs": [{}]}})", inputs, outputs);
  if (const result<void> done = interpret(p, axes, made.values); !done) FAIL(p.name << ": " << done.error().message);
  cases_.push_back(std::move(made));
}

void case_list::check() {
  for (const char* mode : {"interpret", "compile"}) {
    const std::string command =
        fmt::format("'{}' '{}/tests/triton/run_cases.py' {} '{}'", triton_python().string(), KERNSMITH_SOURCE_DIR, mode, folder_.string());
    REQUIRE(std::system(command.c_str()) == 0);
  }
  for (const one& c : cases_) {
    CAPTURE(c.title);
    CAPTURE(c.folder.string());
    REQUIRE(std::filesystem::exists(c.folder / "compile.txt"));
    CHECK(text_of(c.folder / "compile.txt") == "");
    const std::string failed = text_of(c.folder / "interpret.txt");
    CHECK(failed == "");
    if (!failed.empty()) continue;
    for (const int id : c.task.outputs()) {
      const tensor_declaration& tensor = c.task.tensors[static_cast<std::size_t>(id)];
      CHECK(compare(tensor, text_of(c.folder / fmt::format("{}.raw", id)), c.values[static_cast<std::size_t>(id)],
                    compare_for(c.task, id, c.axes)) == "");
    }
  }
}

}  // namespace kernsmith::fixtures
