// What users of such systems met when building, running and measuring: compilers that hang, locks of the dead, candidates that crash or
// hang among good ones, helpers killed from outside. Real compiler, real sandbox.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "backends/cpp/evaluator.hpp"
#include "backends/cpp/toolchain.hpp"
#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
namespace fs = std::filesystem;

namespace {

/// What a limit may be overrun by until everything is gone.
constexpr double grace_s = 2;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// KERNSMITH_CXX for the time of one test.
class compiler_choice {
 public:
  explicit compiler_choice(const std::string& program) { ::setenv("KERNSMITH_CXX", program.c_str(), 1); }
  ~compiler_choice() { ::unsetenv("KERNSMITH_CXX"); }
  compiler_choice(const compiler_choice&) = delete;
  compiler_choice& operator=(const compiler_choice&) = delete;
};

/// A compiler that says its version and then does as `script` says; "$@" are its arguments.
fs::path stub_compiler(const fixtures::temporary_folder& folder, const std::string& script, const std::string& version = "stub 1.0") {
  const fs::path program = folder / "stub-g++";
  std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = --version ] && echo '" << version << "' && exit 0\n" << script << '\n';
  ::chmod(program.c_str(), 0755);
  return program;
}

std::set<int> children() {
  std::set<int> all;
  for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "children");
    for (int pid = 0; file >> pid;) all.insert(pid);
  }
  return all;
}

/// All processes whose command line has `word`.
std::set<int> processes_with(const std::string& word) {
  std::set<int> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(file), {});
    if (line.find(word) != std::string::npos) all.insert(pid);
  }
  return all;
}

const char* const problem_text =
    "name = \"affine\"\n[axes]\nB = 24\nN = 4000\n[inputs.x]\nshape = [\"B\", \"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"B\", "
    "\"N\"]\ndtype = \"f32\"\n[definition]\ntext = \"y[b,n] = exp(x[b,n]) + x[b,0]\"\n";

const std::string honest =
    "  for (long b = 0; b < ctx->axes[0]; ++b)\n    for (long i = 0; i < ctx->axes[1]; ++i)\n      y[b * ctx->axes[1] + i] = expf(x[b * "
    "ctx->axes[1] + i]) + x[b * ctx->axes[1]];\n";

std::string kernel(const std::string& body) {
  return fixtures::kernel_source(body + "  return 0;", "#include <math.h>\n");
}

struct session {
  fixtures::temporary_folder cache;
  std::unique_ptr<cpp::evaluator> evaluator;

  explicit session(double call_timeout_s = 10) {
    cpp::evaluator_options options;
    options.cache = cache.path();
    options.call_timeout_s = call_timeout_s;
    evaluator = fixtures::value_of(cpp::open_evaluator(fixtures::value_of(parse_problem(problem_text, "/nowhere/affine.toml")), options));
  }
  [[nodiscard]] memory::evaluation evaluated(const std::string& body, cpp::effort how = cpp::effort::quick) const {
    return fixtures::value_of(evaluator->evaluate(fixtures::value_of(evaluator->build(kernel(body))), how));
  }
};

}  // namespace

TEST_CASE("a compiler that never ends, ignoring signals, costs its limit and no more") {
  const fixtures::temporary_folder folder, cache;
  const compiler_choice choice(stub_compiler(folder, "trap '' TERM INT HUP\nwhile :; do sleep 600; done"));
  const auto compiler = fixtures::value_of(cpp::toolchain::discover(cache.path()));
  const double begin_s = now_s();
  const auto built = fixtures::value_of(compiler.build("int a;", {}, {}, 1.0));
  CHECK(built.outcome == "build_timeout");
  CHECK(now_s() - begin_s < 1.0 + grace_s);
  CHECK(processes_with(folder.path().string()).empty());
}

TEST_CASE("a slow compiler within its limit is none that never ends") {
  const fixtures::temporary_folder folder, cache;
  const compiler_choice choice(stub_compiler(folder, "sleep 1\nexec /usr/bin/g++ \"$@\""));
  const auto compiler = fixtures::value_of(cpp::toolchain::discover(cache.path()));
  const auto built = fixtures::value_of(compiler.build(kernel(honest), {}, {}, 60));
  CHECK(built.outcome == "");
  CHECK_FALSE(built.library.empty());
}

TEST_CASE("a compiler that leaves a double fork with the pipe behind does not hold the build") {
  const fixtures::temporary_folder folder, cache;
  const compiler_choice choice(stub_compiler(folder, "(setsid sh -c \"trap '' TERM HUP; while :; do sleep 600.0417; done\" &) &\nexit 1"));
  const auto compiler = fixtures::value_of(cpp::toolchain::discover(cache.path()));
  const double begin_s = now_s();
  const auto built = fixtures::value_of(compiler.build("int a;", {}, {}, 30));
  CHECK(built.outcome == "build_failed");
  CHECK(now_s() - begin_s < 5);
  CHECK(processes_with("600.0417").empty());
}

TEST_CASE("without a compiler the reason and a remedy are told, once, instead of a hundred failed candidates") {
  const fixtures::temporary_folder cache;
  const compiler_choice choice("/nowhere/g++");
  const auto compiler = cpp::toolchain::discover(cache.path());
  REQUIRE_FALSE(compiler.has_value());
  CHECK(compiler.error().kind == fault::missing_here);
  CHECK(compiler.error().message.find("/nowhere/g++") != std::string::npos);
}

TEST_CASE("another compiler's builds are not taken from the cache") {
  const fixtures::temporary_folder first, cache;
  const std::string forward = "exec /usr/bin/g++ \"$@\"";
  std::string library;
  {
    const compiler_choice choice(stub_compiler(first, forward, "g++ 12.0"));
    library = fixtures::value_of(fixtures::value_of(cpp::toolchain::discover(cache.path())).build(kernel(honest))).library;
  }
  const compiler_choice choice(stub_compiler(first, forward, "g++ 12.1"));
  const auto again = fixtures::value_of(fixtures::value_of(cpp::toolchain::discover(cache.path())).build(kernel(honest)));
  CHECK(again.library != library);
  CHECK_FALSE(again.from_cache);
}

TEST_CASE("locks and work folders of the dead hold nobody up") {
  const fixtures::temporary_folder cache;
  for (const char* name : {"lock", ".lock", "build.lock", "work-999999", "999999"}) {
    std::ofstream(cache.path() / name) << "999999\n";
  }
  const auto compiler = fixtures::value_of(cpp::toolchain::discover(cache.path()));
  CHECK(fixtures::value_of(compiler.build(kernel(honest))).outcome == "");
}

TEST_CASE("candidates that crash, leave or free twice leave the good ones around them as they were") {
  const session s;
  CHECK(s.evaluated(honest).outcome == "passed");
  CHECK(s.evaluated("  *static_cast<volatile int*>(nullptr) = 1;\n").outcome == "crashed");
  CHECK(s.evaluated(honest + "  (void)n_in;\n").outcome == "passed");
  CHECK(s.evaluated("  void* volatile p = malloc(16); free(p); free(p); y[0] = 1;\n").outcome == "crashed");
  CHECK(s.evaluated("  _exit(0);\n").outcome == "crashed");
  const memory::evaluation last = s.evaluated(honest + "  (void)n_out;\n");
  CHECK(last.outcome == "passed");
  CHECK(last.speedup > 0);
}

TEST_CASE("a hanging candidate is gone within two seconds of its limit, and the next one runs") {
  constexpr double limit_s = 1;
  const session s(limit_s);
  CHECK(s.evaluated(honest).outcome == "passed");
  const std::set<int> before = children();
  const auto built = fixtures::value_of(
      s.evaluator->build(kernel("  signal(SIGTERM, SIG_IGN);\n  for (volatile int go = 1; go;) {}\n").insert(0, "#include <csignal>\n")));
  const double begin_s = now_s();
  CHECK(fixtures::value_of(s.evaluator->evaluate(built, cpp::effort::quick)).outcome == "timeout");
  CHECK(now_s() - begin_s < limit_s + grace_s);
  CHECK(children() == before);
  CHECK(s.evaluated(honest + "  (void)n_in;\n").outcome == "passed");
}

TEST_CASE("a baseline that is killed from outside is started again; the candidate is not charged") {
  const session s;
  CHECK(s.evaluated(honest).outcome == "passed");
  for (const int pid : processes_with(s.cache.path().string())) {
    std::ifstream name("/proc/" + std::to_string(pid) + "/comm");
    std::string comm;
    name >> comm;
    if (comm.starts_with("kernsmith-runne")) ::kill(pid, SIGKILL);
  }
  // The first evaluation may meet the dead baseline: then it is the machine's fault, by name, and the next one is well again.
  const auto built = fixtures::value_of(s.evaluator->build(kernel(honest + "  (void)n_in;\n")));
  const auto met = s.evaluator->evaluate(built, cpp::effort::quick);
  if (met) {
    CHECK(met->outcome == "passed");
  } else {
    CHECK(met.error().kind == fault::infrastructure);
  }
  CHECK(s.evaluated(honest + "  (void)n_out;\n").outcome == "passed");
}

TEST_CASE("a candidate that does everything three times is called slower") {
  const session s;
  const std::string thrice = "  for (int again = 0; again < 3; ++again) {\n" + honest + "  asm volatile(\"\" ::: \"memory\");\n  }\n";
  const memory::evaluation e = s.evaluated(thrice, cpp::effort::search);
  REQUIRE(e.outcome == "passed");
  CHECK(e.workloads[0].verdict != "faster");
  CHECK(e.speedup < 1);
}
