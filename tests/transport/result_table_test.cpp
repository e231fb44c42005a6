#include "transport/result_table.hpp"

#include <doctest/doctest.h>

using namespace kernsmith;
using namespace kernsmith::transport;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

result_row row(const std::string& problem, double speedup, std::vector<double> ci95, std::int64_t evaluations, double wall_s) {
  result_row r;
  r.problem = problem;
  r.target = "cpp/x86-64-v4";
  r.speedup = speedup;
  r.ci95 = std::move(ci95);
  r.stopped_by = speedup > 0 ? "budget" : "exhausted";
  r.evaluations = evaluations;
  r.wall_s = wall_s;
  return r;
}

memory::workload_timing workload(std::int64_t n, double median_ns, double weight = 1) {
  memory::workload_timing w;
  w.axes["N"] = n;
  w.weight = weight;
  w.median_ns = median_ns;
  return w;
}

}  // namespace

TEST_CASE("columns that no row has anything for are left out") {
  CHECK(joined(result_table(std::vector<result_row>{row("softmax", 3.456, {3.4, 3.5}, 96, 200), row("cumsum", 0, {}, 7, 12)})) ==
        "problem  target         best   95 % interval  evaluations  stopped by  time\n"
        "softmax  cpp/x86-64-v4  3.46x  [3.40, 3.50]   96           budget      3 m 20 s\n"
        "cumsum   cpp/x86-64-v4  -      -              7            exhausted   12 s\n");
}

TEST_CASE("the table of one session is short: its report has the rest") {
  result_row one = row("softmax", 3.456, {3.4, 3.5}, 96, 200);
  one.copy_fraction = 0.97;
  one.control = "no_difference";
  CHECK(joined(result_table(std::vector<result_row>{one})) ==
        "problem  target         best   95 % interval  evaluations  stopped by  time\n"
        "softmax  cpp/x86-64-v4  3.46x  [3.40, 3.50]   96           budget      3 m 20 s\n");
}

TEST_CASE("the whole table: other baselines, fractions, the control, and a session that failed") {
  result_row whole = row("matmul", 41.41, {41.1, 41.8}, 24, 76);
  whole.over_others = {{"cublas", 2.458}, {"mine", 1.0}};
  whole.copy_fraction = 0.034;
  whole.roofline_fraction = 0.91;
  whole.control = "no_difference";
  result_row failed = row("softmax", 0, {}, 0, 0);
  failed.failure = "softmax.toml: the baseline does not build\nkernel.cpp:1: and a compiler's log";
  CHECK(joined(result_table(std::vector<result_row>{whole, failed})) ==
        "problem  target         best    95 % interval   over others               of a copy  of the roofline  control        evaluations  "
        "stopped by  time\n"
        "matmul   cpp/x86-64-v4  41.41x  [41.10, 41.80]  cublas 2.46x, mine 1.00x  0.03       0.91             no difference  24           "
        "budget      1 m 16 s\n"
        "softmax  cpp/x86-64-v4  -       -               -                         -          -                -              0            "
        "failure     0 s\n"
        "softmax failed: softmax.toml: the baseline does not build\n");
}

TEST_CASE("the speed-up over a further baseline is that of the workloads both have, by weight") {
  memory::evaluation best;
  best.workloads = {workload(1, 100), workload(2, 100, 3), workload(3, 100)};
  memory::baseline_timing other;
  other.workloads = {workload(1, 1600), workload(2, 100), workload(7, 1)};
  CHECK(speedup_over(best, other) == doctest::Approx(2.0));  // (16 * 1^3)^(1/4)
  other.workloads = {workload(7, 1)};
  CHECK(speedup_over(best, other) == 0);
}
