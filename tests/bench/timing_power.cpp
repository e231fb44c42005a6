// How far the evaluator's timing verdicts can be trusted, measured: kernels against themselves (every "faster" or "slower" is wrong), and
// kernels with a true difference (how often is it found, and is the sign right?). Prints markdown tables; needs an otherwise idle machine.
//
//   timing_power CACHE [--pairs 500] [--runs 20] [--effort search|final] [--only same|different] [--samples FILE]
//               [--first 0] [--longest US]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "backends/cpp/evaluator.hpp"
#include "config/problem.hpp"

using namespace kernsmith;

namespace {

/// Work of a known amount: `rounds` dependent multiply-adds in each thread, or passes over the input.
struct work {
  const char* name;
  double target_us;
  bool parallel = false;
  bool streams = false;
  std::int64_t elements = 4096;
};

const std::vector<work> all_work = {
    {"arithmetic, one thread", 20},
    {"arithmetic, one thread", 60},
    {"arithmetic, all threads", 60, true},
    {"arithmetic, one thread", 250},
    {"arithmetic, all threads", 1200, true},
    {"arithmetic, one thread", 5000},
    {"arithmetic, all threads", 20000, true},
    {"arithmetic, one thread", 100000},
    {"passes over 1 MiB", 200, true, true, std::int64_t{1} << 18},
    {"passes over 32 MiB", 4000, true, true, std::int64_t{1} << 23},
};

/// Nanoseconds of one round; only to come near the target, what was measured is printed.
double round_ns(const work& w) {
  return w.streams ? static_cast<double>(w.elements) * 8 / 20 : 1.2;
}

std::int64_t rounds_of(const work& w) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(w.target_us * 1e3 / round_ns(w)));
}

std::string source_of(const work& w, double factor, int variant) {
  const auto rounds = static_cast<std::int64_t>(static_cast<double>(rounds_of(w)) * factor);
  std::string text = fmt::format("// variant {}\n#include \"kernsmith_kernel.h\"\n#include <omp.h>\n", variant);
  text += "extern \"C\" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {\n";
  text += "  const float* x = static_cast<const float*>(in[0].data);\n  float* y = static_cast<float*>(out[0].data);\n";
  text += "  const int64_t n = ctx->axes[0];\n";
  if (w.streams) {
    text += fmt::format("  for (int64_t pass = 0; pass < {}; ++pass) {{\n", std::max<std::int64_t>(rounds, 1));
    text += "#pragma omp parallel for schedule(static) num_threads(ctx->threads)\n";
    text += "    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];\n  }\n  return 0;\n}\n";
    return text;
  }
  text += fmt::format("#pragma omp parallel num_threads({})\n  {{\n    float a = 1;\n", w.parallel ? "ctx->threads" : "1");
  text += fmt::format("    for (int64_t round = 0; round < {}; ++round) {{ a = a * 0.999f + 0.001f; asm volatile(\"\" : \"+x\"(a)); }}\n",
                      rounds);
  text += "#pragma omp for\n    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + (a > 2 ? a : 0);\n  }\n  return 0;\n}\n";
  return text;
}

struct settings {
  std::filesystem::path cache;
  int pairs = 500, runs = 20;
  double longest_us = 1e9;  ///< kernels above are left out
  std::size_t first = 0;    ///< position of the kernel to begin with; the others follow, in a ring
  std::string effort = "search", only;
  std::filesystem::path samples;  ///< one line of JSON per evaluation: which kernel, the true factor, the verdict, every block
  [[nodiscard]] cpp::effort how() const { return effort == "final" ? cpp::effort::final : cpp::effort::search; }
};

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "timing_power: {}\n", why);
  std::exit(1);
}

/// An evaluator whose baseline is the work itself.
std::unique_ptr<cpp::evaluator> open_for(const work& w, const settings& s, std::size_t number) {
  const std::filesystem::path folder = s.cache / fmt::format("work-{}", number);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "baseline.cpp") << source_of(w, 1, 0);
  std::ofstream(folder / "work.toml") << fmt::format(
      "name = \"work\"\n[axes]\nN = {}\n[inputs.x]\nshape = [\"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"N\"]\ndtype = \"f32\"\n"
      "[definition]\ntext = \"y[n] = 2 * x[n]\"\n[baselines.itself]\nsource = \"baseline.cpp\"\n",
      w.elements);
  auto p = load_problem(folder / "work.toml");
  if (!p) give_up(p.error().message);
  cpp::evaluator_options options;
  options.cache = s.cache;
  auto opened = cpp::open_evaluator(*p, options);
  if (!opened) give_up(opened.error().message);
  return std::move(*opened);
}

using counts = std::map<std::string, int>;

/// One evaluation of the work at `factor` times its amount; counts the verdict.
double judge(cpp::evaluator& e, const work& w, const settings& s, double factor, int variant, counts& verdicts) {
  const auto built = e.build(source_of(w, factor, variant));
  if (!built) give_up(built.error().message);
  const auto done = e.evaluate(*built, s.how());
  if (!done) give_up(done.error().message);
  if (done->outcome != "passed") {
    ++verdicts[done->outcome];
    fmt::print(stderr, "{}: {} {}\n", w.name, done->outcome, done->detail);
    return 0;
  }
  ++verdicts[done->workloads.front().verdict];
  if (!s.samples.empty()) {
    const auto raw = nlohmann::json::parse(e.samples_json());
    std::ofstream(s.samples, std::ios::app) << nlohmann::json{{"kernel", w.name},
                                                              {"us", w.target_us},
                                                              {"factor", factor},
                                                              {"verdict", done->workloads.front().verdict},
                                                              {"ratio", done->workloads.front().speedup},
                                                              {"ci95", done->workloads.front().ci95},
                                                              {"own_s", done->cost.own_s},
                                                              {"kernel_s", done->cost.kernel_s},
                                                              {"blocks", raw["workloads"][0]["blocks"]}}
                                                   .dump()
                                            << "\n";
  }
  return done->workloads.front().median_ns;
}

std::string row(const counts& verdicts) {
  const auto of = [&](const char* word) { return verdicts.contains(word) ? verdicts.at(word) : 0; };
  int others = 0;
  for (const auto& [word, count] : verdicts)
    others += word == "faster" || word == "slower" || word == "no_difference" || word == "unresolved" ? 0 : count;
  return fmt::format("{} | {} | {} | {} | {} |", of("faster"), of("slower"), of("no_difference"), of("unresolved"), others);
}

void same(const settings& s) {
  fmt::print("Against itself, {} effort:\n\n| kernel | median, us | pairs | faster | slower | no difference | unresolved | other |\n",
             s.effort);
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  counts total;
  const int each = (s.pairs + static_cast<int>(all_work.size()) - 1) / static_cast<int>(all_work.size());
  for (std::size_t n = 0; n < all_work.size(); ++n) {
    const std::size_t i = (s.first + n) % all_work.size();
    if (all_work[i].target_us > s.longest_us) continue;
    const auto e = open_for(all_work[i], s, i);
    counts verdicts;
    double ns = 0;
    for (int pair = 0; pair < each; ++pair) ns = judge(*e, all_work[i], s, 1, 1, verdicts);
    for (const auto& [word, count] : verdicts) total[word] += count;
    fmt::print("| {} | {:.0f} | {} | {}\n", all_work[i].name, ns / 1e3, each, row(verdicts));
    std::fflush(stdout);
  }
  fmt::print("| all | | {} | {}\n\n", each * static_cast<int>(all_work.size()), row(total));
}

void different(const settings& s) {
  fmt::print(
      "With a true difference, {} effort:\n\n| kernel | median, us | true | runs | faster | slower | no difference | unresolved | other "
      "|\n",
      s.effort);
  fmt::print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (std::size_t n = 0; n < all_work.size(); ++n) {
    const std::size_t i = (s.first + n) % all_work.size();
    const work& w = all_work[i];
    if (w.streams || w.target_us > s.longest_us) continue;  // a pass more or less is not 3 %
    const auto e = open_for(w, s, i);
    for (const double factor : {1 / 1.03, 1.03, 1 / 1.1, 1.1, 2.0}) {
      counts verdicts;
      double ns = 0;
      for (int run = 0; run < s.runs; ++run) ns = judge(*e, w, s, factor, 2, verdicts);
      const std::string truth =
          factor < 1 ? fmt::format("{:.0f} % faster", (1 / factor - 1) * 100) : fmt::format("{:.2f} x the time", factor);
      fmt::print("| {} | {:.0f} | {} | {} | {}\n", w.name, ns / 1e3, truth, s.runs, row(verdicts));
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures how often timing verdicts are right");
  settings s;
  app.add_option("cache", s.cache, "A folder for builds and problem files")->required();
  app.add_option("--pairs", s.pairs, "Kernels against themselves")->check(CLI::PositiveNumber);
  app.add_option("--runs", s.runs, "Runs per kernel and difference")->check(CLI::PositiveNumber);
  app.add_option("--effort", s.effort)->check(CLI::IsMember({"search", "final"}));
  app.add_option("--samples", s.samples, "A file to append every block to, one line of JSON per evaluation");
  app.add_option("--longest", s.longest_us, "Leave out kernels of more microseconds than this");
  app.add_option("--first", s.first, "Position of the kernel to begin with");
  app.add_option("--only", s.only)->check(CLI::IsMember({"same", "different"}));
  CLI11_PARSE(app, argc, argv);
  std::filesystem::create_directories(s.cache);
  if (s.only != "different") same(s);
  if (s.only != "same") different(s);
  return 0;
}
