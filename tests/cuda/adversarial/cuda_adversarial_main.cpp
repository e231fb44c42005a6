// The adversarial suite of CUDA candidates: every fixture is built and evaluated on this machine's device and must get its word; after each
// that may have hurt the device a plain right kernel must pass. Prints a table and counts what it examined.
//
//     test_cuda_adversarial [--only TEXT] [--cache FOLDER] [--source FOLDER]
//
// Ends with 77 where there is no device.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cuda/evaluator.hpp"
#include "config/problem.hpp"

namespace {

namespace fs = std::filesystem;
using namespace kernsmith;

constexpr int no_device = 77;  // what ctest takes for "skipped"
constexpr std::size_t max_head_lines = 12;
/// Short, so that what hangs does not hold the suite: the same code path as the usual limits.
constexpr double call_timeout_s = 2, build_timeout_s = 60;
constexpr unsigned most_builders = 8;
constexpr std::int64_t memory_limit_bytes = std::int64_t{2} << 30;

struct fixture {
  std::string name, problem, why, source;
  std::vector<std::string> expect;
  std::vector<std::string> rules;  ///< any of them, where the outcome is `cheating`
  cuda::effort how = cuda::effort::search;
};

struct arguments {
  std::string only;
  fs::path cache = fs::path(KERNSMITH_BINARY_DIR) / "cuda-adversarial-cache", source = KERNSMITH_SOURCE_DIR;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  const std::string separator = " or ";
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(separator, from)) != std::string::npos; from = at + separator.size())
    words.push_back(text.substr(from, at - from));
  words.push_back(text.substr(from));
  return words;
}

/// As in tests/adversarial: "// key: value" lines at the top.
result<fixture> load(const fs::path& file, const std::string& name) {
  std::ifstream stream(file, std::ios::binary);
  fixture f;
  f.name = name;
  f.source.assign(std::istreambuf_iterator<char>(stream), {});
  std::map<std::string, std::string> head;
  std::istringstream lines(f.source);
  std::size_t count = 0;
  for (std::string line; count < max_head_lines && std::getline(lines, line) && line.starts_with("// "); ++count) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) head[line.substr(3, colon - 3)] = line.substr(colon + 2);
  }
  for (const char* needed : {"expect", "problem", "effort", "why"}) {
    if (head[needed].empty()) return fail(fault::bad_request, fmt::format("{} has no line '// {}: ...'", file.string(), needed));
  }
  f.expect = words_of(head["expect"]);
  f.problem = head["problem"];
  f.why = head["why"];
  if (!head["rule"].empty()) f.rules = words_of(head["rule"]);
  f.how = head["effort"] == "final" ? cuda::effort::final : head["effort"] == "quick" ? cuda::effort::quick : cuda::effort::search;
  const bool passes = f.expect == std::vector<std::string>{"passed"};
  if (passes != name.starts_with("must_pass/"))
    return fail(fault::bad_request, fmt::format("{}: 'passed' belongs in must_pass", file.string()));
  return f;
}

result<std::vector<fixture>> load_fixtures(const fs::path& folder) {
  std::vector<fixture> all;
  // Those that pass first: where the baseline is slow, what fails is then judged beside the fastest of them.
  for (const char* kind : {"must_pass", "must_fail"}) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder / kind)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      auto f = load(file, fmt::format("{}/{}", kind, file.stem().string()));
      if (!f) return tl::unexpected(f.error());
      all.push_back(std::move(*f));
    }
  }
  return all;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class suite {
 public:
  explicit suite(const arguments& given) : given_(given) {}

  result<cuda::evaluator*> evaluator_of(const std::string& problem_name) {
    auto& known = open_[problem_name];
    if (known) return known.get();
    auto p = load_problem(given_.source / "tests/cuda/problems" / (problem_name + ".toml"));
    if (!p) return tl::unexpected(p.error());
    cuda::evaluator_options options;
    options.cache = given_.cache;
    options.call_timeout_s = call_timeout_s;
    options.build_timeout_s = build_timeout_s;
    options.memory_limit_bytes = memory_limit_bytes;
    const double began_s = now_s();
    auto made = cuda::open_evaluator(*p, options);
    if (!made) return tl::unexpected(made.error());
    fmt::print("      {} opened in {:.2f} s\n", problem_name, now_s() - began_s);
    known = std::move(*made);
    return known.get();
  }

  /// All sources through the compiler, several at once: one after the other they take longer than everything else.
  void build_ahead(const std::vector<fixture>& fixtures) {
    std::vector<std::pair<const fixture*, cuda::evaluator*>> wanted;
    for (const fixture& f : fixtures) {
      if (f.name.find(given_.only) == std::string::npos) continue;
      if (auto on = evaluator_of(f.problem)) wanted.emplace_back(&f, *on);
    }
    const double began_s = now_s();
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> builders;
    for (unsigned n = std::clamp(std::thread::hardware_concurrency(), 1U, most_builders); n > 0; --n) {
      builders.emplace_back([&] {
        for (std::size_t i = next++; i < wanted.size(); i = next++)
          (void)wanted[i].second->build(wanted[i].first->source);  // kept in the cache
      });
    }
    for (std::thread& builder : builders) builder.join();
    fmt::print("      {} sources built in {:.2f} s\n", wanted.size(), now_s() - began_s);
  }

  /// Did it get its word?
  bool run(const fixture& f) {
    const double began_s = now_s();
    const auto wrong = [&](const std::string& got) {
      fmt::print("WRONG {:<36} {}\n      must get {}: {}\n", f.name, got, fmt::join(f.expect, " or "), f.why);
      std::fflush(stdout);
      return false;
    };
    auto on = evaluator_of(f.problem);
    if (!on) return wrong("ERROR " + on.error().message);
    auto built = (*on)->build(f.source);
    if (!built) return wrong("ERROR " + built.error().message);
    const double built_s = now_s();
    auto e = (*on)->evaluate(*built, f.how);
    if (!e) return wrong("ERROR " + e.error().message);
    const bool known = std::find(f.expect.begin(), f.expect.end(), e->outcome) != f.expect.end();
    if (!known || (e->outcome == "cheating" && std::find(f.rules.begin(), f.rules.end(), e->rule) == f.rules.end()))
      return wrong(fmt::format("{} {} {}", e->outcome, e->rule, e->detail));
    if (e->outcome != "passed" && e->detail.empty()) return wrong(e->outcome + " without a reason");
    std::string detail = e->detail.substr(0, 110);
    if (e->outcome == "passed") {
      detail = fmt::format("speed-up {:.2f}", e->speedup);
      for (const memory::workload_timing& w : e->workloads)
        detail += fmt::format(" | {:.1f} us, naive {:.1f} us, {}", w.median_ns * 1e-3, w.baseline_median_ns * 1e-3, w.verdict);
      detail += fmt::format(" | {} timed outputs", e->verification.timed_outputs);
    }
    fmt::print("ok    {:<36} {:<16} build {:.2f} s, rest {:.2f} s  {}\n", f.name, e->outcome, built_s - began_s, now_s() - built_s, detail);
    std::fflush(stdout);
    return true;
  }

 private:
  const arguments& given_;
  std::map<std::string, std::unique_ptr<cuda::evaluator>> open_;
};

/// What may leave the device, or its driver, in another state.
bool hurts(const fixture& f) {
  return std::any_of(f.expect.begin(), f.expect.end(), [](const std::string& word) {
    return word == "crashed" || word == "timeout" || word == "out_of_bounds" || word == "resource_limit";
  });
}

int run_all(const arguments& given) {
  if (auto here = cuda::target_here(); !here) {
    fmt::print("no device here: {}\n", here.error().message);
    return no_device;
  }
  auto fixtures = load_fixtures(given.source / "tests/cuda/fixtures");
  if (!fixtures) {
    fmt::print(stderr, "{}\n", fixtures.error().message);
    return 2;
  }
  const auto plain = std::find_if(fixtures->begin(), fixtures->end(), [](const fixture& f) { return f.name == "must_pass/plain"; });
  suite all(given);
  all.build_ahead(*fixtures);
  int examined = 0, wrong = 0, controls = 0;
  for (const fixture& f : *fixtures) {
    if (f.name.find(given.only) == std::string::npos) continue;
    ++examined;
    if (!all.run(f)) ++wrong;
    if (!hurts(f) || plain == fixtures->end()) continue;
    ++controls;
    if (!all.run(*plain)) ++wrong;
  }
  fmt::print("{} fixtures examined, {} right kernels after what may hurt the device, {} wrong\n", examined, controls, wrong);
  return examined > 0 && wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--only") given.only = argv[i + 1];
    if (name == "--cache") given.cache = argv[i + 1];
    if (name == "--source") given.source = argv[i + 1];
  }
  return run_all(given);
}
