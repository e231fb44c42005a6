// The evaluator from outside: honest kernels pass, each kind of wrong one gets its word, timings point the right way. Real compiler, real
// sandbox.
#include "backends/cpp/evaluator.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "backends/cpp/reference_source.hpp"

using namespace kernsmith;

namespace {

struct folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("kernsmith-evaluator-" + std::to_string(::getpid()));
  folder() { std::filesystem::create_directories(path); }
  ~folder() { std::filesystem::remove_all(path); }
};

const folder& scratch() {
  static const folder f;
  return f;
}

/// y = 2 x + the row's first element; small enough for quick timings, wide enough for several pages.
const char* const problem_text =
    "name = \"affine\"\n[axes]\nB = 24\nN = 1000\n[inputs.x]\nshape = [\"B\", \"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"B\", "
    "\"N\"]\ndtype = \"f32\"\n"
    "[definition]\ntext = \"y[b,n] = 2 * x[b,n] + x[b,0]\"\n[compare]\nmode = \"allclose\"\natol = 1e-6\nrtol = 1e-5\n";

problem parsed(const std::string& text) {
  auto p = parse_problem(text, "/nowhere/test.toml");
  INFO((p ? "" : p.error().message));
  REQUIRE(p);
  return *p;
}

result<std::unique_ptr<cpp::evaluator>> opened(const std::string& text) {
  cpp::evaluator_options options;
  options.cache = scratch().path / "cache";
  return cpp::open_evaluator(parsed(text), options);
}

cpp::evaluator& shared_evaluator() {
  static const auto e = opened(problem_text);
  INFO((e ? "" : e.error().message));
  REQUIRE(e);
  return **e;
}

std::string kernel(const std::string& body) {
  return "#include \"kernsmith_kernel.h\"\n#include <cstdlib>\n#include <cstring>\n#include <unistd.h>\n"
         "extern \"C\" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {\n"
         "  float* x = (float*)in[0].data; float* y = (float*)out[0].data; const long B = ctx->axes[0], N = ctx->axes[1]; (void)x; "
         "(void)y; (void)B; (void)N;\n" +
         body + "\n  return 0;\n}\n";
}

const std::string honest = "for (long b = 0; b < B; ++b) for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];";

memory::evaluation evaluated(const std::string& body, cpp::effort how = cpp::effort::quick) {
  cpp::evaluator& e = shared_evaluator();
  const auto built = e.build(kernel(body));
  REQUIRE(built);
  INFO(built->log);
  auto r = e.evaluate(*built, how);
  INFO((r ? "" : r.error().message));
  REQUIRE(r);
  return *r;
}

}  // namespace

TEST_CASE("an honest kernel passes at every effort, with its evidence") {
  for (cpp::effort how : {cpp::effort::quick, cpp::effort::search, cpp::effort::final}) {
    const memory::evaluation e = evaluated(honest, how);
    CAPTURE(e.detail);
    CHECK(e.outcome == "passed");
    REQUIRE(e.workloads.size() == 1);
    CHECK(e.workloads[0].median_ns > 0);
    CHECK(e.workloads[0].samples >= 6);
    CHECK(e.workloads[0].floor_ns > 0);
    CHECK(e.workloads[0].median_ns > e.workloads[0].floor_ns);
    CHECK(e.workloads[0].ci95.size() == 2);
    CHECK(e.speedup > 0);
    CHECK(e.verification.cases >= 2);
    CHECK(e.verification.timed_outputs >= 6);
    CHECK(e.verification.max_error <= 1);
    CHECK(e.cost.kernel_s > 0);
    CHECK(e.machine_code.size() > 8);
    CHECK(e.fingerprint.copy_gb_per_s > 0);
    CHECK(e.diagnosis.signals.count("gb_per_s") == 1);
    CHECK(shared_evaluator().samples_json().find("\"candidate\"") != std::string::npos);
    if (how == cpp::effort::final) {
      CHECK(e.workloads[0].cold_median_ns > 0);
      CHECK(shared_evaluator().samples_json().find("\"launch\": 2") != std::string::npos);
    }
  }
}

TEST_CASE("each way of being wrong has its word") {
  const struct {
    const char* what;
    std::string body;
    const char* outcome;
  } cases[] = {
      {"writes nothing", "", "unwritten"},
      {"writes zeros", "memset(y, 0, B * N * 4);", "wrong_values"},
      {"copies its input", "memcpy(y, x, B * N * 4);", "wrong_values"},
      {"leaves the tail", "for (long i = 0; i + 1 < B * N; ++i) y[i] = 2 * x[i] + x[i / N * N];", "unwritten"},
      {"writes one past the end", honest + " ((volatile float*)y)[B * N] = 1;", "out_of_bounds"},
      {"writes one before the start", honest + " ((volatile float*)y)[-1] = 1;", "out_of_bounds"},
      {"modifies its input", honest + " x[0] += 1;", "input_modified"},
      {"crashes", "abort();", "crashed"},
      {"leaves", "_exit(0);", "crashed"},
      {"refuses", "return 7;", "refused"},
      {"wrong only for one row", honest + " if (B == 1) y[0] += 1;", "wrong_values"},
      {"computes once and replays what it remembers",
       "static float* kept; static long size; if (size != B * N) { size = B * N; kept = (float*)malloc(size * 4); " + honest +
           " memcpy(kept, y, size * 4); } else memcpy(y, kept, size * 4);",
       "wrong_values"},
      {"does nothing after its tenth call", "static int calls; if (++calls > 10) return 0; " + honest, "wrong_values"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const memory::evaluation e = evaluated(c.body, cpp::effort::search);
    CAPTURE(e.detail);
    // Stale outputs of an earlier call are wrong values; poison that shows through them is unwritten memory. Either names the fault.
    const bool either = std::string(c.what).find("tenth") != std::string::npos && e.outcome == "unwritten";
    if (!either) CHECK(e.outcome == c.outcome);
    CHECK(e.speedup == 0);
    CHECK_FALSE(e.detail.empty());
  }
}

TEST_CASE("what does not build or load is named so") {
  cpp::evaluator& e = shared_evaluator();
  const auto broken = e.build("this is not C++");
  REQUIRE(broken);
  CHECK(broken->outcome == "build_failed");
  CHECK(e.evaluate(*broken, cpp::effort::quick)->outcome == "build_failed");
  const auto empty = e.build("int nothing;");
  REQUIRE(empty);
  const auto loaded = e.evaluate(*empty, cpp::effort::quick);
  REQUIRE(loaded);
  CHECK(loaded->outcome == "build_failed");
  CHECK(loaded->detail.find("launch") != std::string::npos);
}

TEST_CASE("a kernel that does the work two hundred times over is never called faster") {
  const std::string slow = "for (int again = 0; again < 200; ++again) { " + honest + " asm volatile(\"\" ::: \"memory\"); }";
  const memory::evaluation e = evaluated(slow, cpp::effort::search);
  REQUIRE(e.outcome == "passed");
  CHECK(e.workloads[0].verdict != "faster");
}

// What the control finds depends on how busy the machine is; statistics_test.cpp has its error rates. Here: that it is measured at all.
TEST_CASE("the A/A control runs the baseline against itself") {
  const auto control = shared_evaluator().control();
  REQUIRE(control);
  CHECK_FALSE(control->verdict.empty());
  REQUIRE(control->ci95.size() == 2);
  CHECK(control->ci95[0] <= control->ratio);
  CHECK(control->ratio <= control->ci95[1]);
  CHECK(control->ratio > 0);
}

TEST_CASE("baselines are measured and named") {
  const auto baselines = shared_evaluator().baselines();
  REQUIRE(baselines.size() == 1);
  CHECK(baselines[0].name == "naive");
  CHECK(baselines[0].workloads[0].median_ns > 0);
  CHECK(shared_evaluator().spent().kernel_s > 0);
}

TEST_CASE("problems that nothing could fail are refused with the reason") {
  std::string loose = problem_text;
  loose.replace(loose.find("atol = 1e-6"), 11, "atol = 100.0");
  const auto zeros = opened(loose);
  REQUIRE_FALSE(zeros);
  CHECK(zeros.error().kind == fault::bad_request);
  CHECK(zeros.error().message.find("zeros") != std::string::npos);
}

TEST_CASE("baselines that this target lacks are refused with what there is") {
  const auto torch = opened(std::string(problem_text) + "[baselines.torch]\nbuiltin = \"pytorch\"\n");
  REQUIRE_FALSE(torch);
  CHECK(torch.error().kind == fault::bad_request);
  CHECK(torch.error().message.find("naive") != std::string::npos);
  const auto blas = opened(std::string(problem_text) + "[baselines.blas]\nbuiltin = \"openblas\"\n");
  REQUIRE_FALSE(blas);
  CHECK(blas.error().message.find("sum(k: a[m,k] * b[k,n])") != std::string::npos);
}

TEST_CASE("OpenBLAS stands in for plain products in every layout") {
  for (const char* definition :
       {"c[m,n] = sum(k: a[m,k] * b[k,n])", "c[m,n] = sum(k: b[k,n] * a[m,k])", "c[n,m] = sum(k: a[m,k] * b[k,n])"}) {
    CAPTURE(definition);
    const bool turned = std::string(definition).find("c[n,m]") == 0;
    const std::string text =
        std::string("name = \"product\"\n[axes]\nM = 33\nN = 47\nK = 29\n[inputs.a]\nshape = [\"M\", \"K\"]\ndtype = \"f64\"\n") +
        "[inputs.b]\nshape = [\"K\", \"N\"]\ndtype = \"f64\"\n[outputs.c]\nshape = " + (turned ? "[\"N\", \"M\"]" : "[\"M\", \"N\"]") +
        "\ndtype = \"f64\"\n[definition]\ntext = \"" + definition + "\"\n[baselines.blas]\nbuiltin = \"openblas\"\n";
    const auto e = opened(text);
    if (!e && e.error().kind == fault::missing_here) return;  // no OpenBLAS on this machine
    INFO((e ? "" : e.error().message));
    REQUIRE(e);  // opening checks the baseline against the reference
    CHECK((*e)->baselines()[0].name == "blas");
  }
}
