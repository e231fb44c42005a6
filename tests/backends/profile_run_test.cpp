// The runner's profile mode in the sandbox: what profilers are wrapped around.
#include "backends/harness/profile_run.hpp"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "backends/cpp/profile_samples.hpp"
#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::harness;

namespace {

const char* const problem_text =
    "name = \"double\"\n[axes]\nN = 5000\n[inputs.x]\nshape = [\"N\"]\ndtype = \"f32\"\ninit = { kind = \"arange\", start = 1, step = 1 }\n"
    "[outputs.y]\nshape = [\"N\"]\ndtype = \"f32\"\n[definition]\ntext = \"y[n] = 2 * x[n]\"\n";

const fixtures::temporary_folder& scratch() {
  static const fixtures::temporary_folder folder;
  return folder;
}

profile_folder inputs() {
  const auto p = parse_problem(problem_text, "/nowhere/test.toml");
  REQUIRE(p);
  auto folder = profile_folder::create(*p, {5000}, 1, scratch().path());
  REQUIRE(folder);
  return std::move(*folder);
}

profile_run_spec spec_for(const std::string& body) {
  profile_run_spec spec;
  spec.library = fixtures::built(fixtures::kernel_source(body));
  spec.cores = fixtures::allowed_cores(1);
  return spec;
}

std::string failure(const profile_run_spec& spec) {
  const auto report = run_for_profile(inputs(), spec);
  REQUIRE_FALSE(report.has_value());
  CHECK(report.error().kind == fault::bad_request);
  return report.error().message;
}

}  // namespace

TEST_CASE("a kernel is called as often as asked, on the declared contents") {
  auto spec = spec_for("if (n != 5000 || x[0] != 1 || x[4999] != 5000 || ctx->axes[0] != n || ctx->n_axes != 1) return 9;\n" +
                       fixtures::doubling_body);
  spec.calls = 7;
  spec.warm_calls = 2;
  const auto report = run_for_profile(inputs(), spec);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  CHECK(report->calls == 7);
  CHECK(report->call_ns > 0);
  CHECK(report->wall_ns >= 7 * 100);
  CHECK(report->samples.empty());
}

TEST_CASE("samples fall into the code that takes the time") {
  auto spec = spec_for(
      "for (int round = 0; round < 2000; ++round) { for (long i = 0; i < n; ++i) y[i] = 2 * x[i]; asm volatile(\"\" ::: \"memory\"); "
      "}\nreturn 0;");
  spec.seconds = 0.4;
  spec.sample = true;
  const auto report = run_for_profile(inputs(), spec);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  CHECK(report->wall_ns >= 0.4e9);
  const auto where = cpp::summarise(report->samples, spec.library.string(), 1);
  CHECK(where.count > 10);
  CHECK(where.kernel > 0.9);
}

TEST_CASE("a profiler is wrapped around the runner") {
  auto spec = spec_for(fixtures::doubling_body);
  spec.wrapper = {"/usr/bin/env", "WRAPPED=yes"};
  CHECK(run_for_profile(inputs(), spec).has_value());
  spec.wrapper = {"/usr/bin/false"};
  CHECK(failure(spec).find("exit status 1") != std::string::npos);
}

TEST_CASE("what a kernel does wrong is told") {
  CHECK(failure(spec_for("return 3;")).find("refused the call with code 3") != std::string::npos);
  CHECK(failure(spec_for("abort();\nreturn 0;")).find("it died of signal 6") != std::string::npos);
  auto endless = spec_for("for (;;) usleep(1000);\nreturn 0;");
  endless.timeout_s = 1;
  CHECK(failure(endless).find("it ran for more than 1 s") != std::string::npos);
}

TEST_CASE("the folder goes with its object") {
  std::filesystem::path kept;
  {
    const profile_folder folder = inputs();
    kept = folder.inputs();
    CHECK(std::filesystem::exists(kept));
  }
  CHECK_FALSE(std::filesystem::exists(kept.parent_path()));
}
