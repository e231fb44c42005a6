// The worked example: a bare-metal RISC-V vector core under QEMU. Honest kernels pass and are counted exactly; kernels that reach for the
// counter, the emulator or other memory are stopped by the machine itself.
#include "external_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

harness::evaluator& shared_evaluator() {
  static const auto opened = [] {
    external_target target = value_of(load_external_target(riscv_file));
    target.run.timeout_s = 2;
    return value_of(external::open_evaluator(target, affine(), quick_options()));
  }();
  return *opened;
}

/// Says so and returns true when this machine lacks the emulator or its tools.
bool skipped() {
  if (has_riscv()) return false;
  MESSAGE("SKIPPED: qemu-system-riscv64, clang-15 or the RISC-V tools are missing; scripts/setup --with external installs them");
  return true;
}

const std::string vector_body = R"(
  for (int64_t b = 0; b < B; ++b) {
    const float first = x[b * N];
    size_t vl;
    for (int64_t n = 0; n < N; n += (int64_t)vl) {
      vl = vsetvl_e32m8((size_t)(N - n));
      const vfloat32m8_t v = vle32_v_f32m8(x + b * N + n, vl);
      vse32_v_f32m8(y + b * N + n, vfadd_vf_f32m8(vfadd_vv_f32m8(v, v, vl), first, vl), vl);
    }
  })";

}  // namespace

TEST_CASE("an honest kernel passes, and its instructions are counted exactly") {
  if (skipped()) return;
  const auto e = evaluated(shared_evaluator(), kernel(vector_body, "#include <riscv_vector.h>\n"), harness::effort::final);
  INFO(e.detail);
  REQUIRE(e.outcome == "passed");
  CHECK(e.unit == "instructions");
  CHECK(e.metric == "instructions");
  CHECK(e.verification.cases > 10);
  REQUIRE(e.workloads.size() == 1);
  // The same arithmetic on every content: no spread at all, and far fewer instructions than the scalar baseline.
  CHECK(e.workloads[0].ci95_ns[0] == e.workloads[0].ci95_ns[1]);
  CHECK(e.workloads[0].ci95[0] == e.workloads[0].ci95[1]);
  CHECK(e.workloads[0].verdict == "faster");
  CHECK(e.speedup > 5);
  REQUIRE(e.diagnosis.knowledge.size() >= 2);
  CHECK(e.diagnosis.knowledge[0] == "riscv-rvv-facts");
  CHECK(e.workloads[0].median_ns < 600);
  const auto again = evaluated(shared_evaluator(), kernel(vector_body, "#include <riscv_vector.h>\n"), harness::effort::search);
  CHECK(again.workloads[0].median_ns == e.workloads[0].median_ns);
}

TEST_CASE("the baseline against itself makes no difference, to the instruction") {
  if (skipped()) return;
  const auto control = value_of(shared_evaluator().control());
  CHECK(control.verdict == "no_difference");
  CHECK(control.ratio == 1);
  CHECK(shared_evaluator().baselines().front().unit == "instructions");
}

TEST_CASE("wrong kernels get the word that says why") {
  if (skipped()) return;
  const auto word = [](const std::string& body, const std::string& before = "") {
    const auto e = evaluated(shared_evaluator(), kernel(body, before), harness::effort::search);
    INFO(e.detail);
    return e.outcome;
  };
  CHECK(word("") == "unwritten");
  CHECK(word("  for (int64_t i = 0; i < B * N; ++i) y[i] = 0;") == "wrong_values");
  CHECK(word(honest_body + "\n  y[B * N] = 0;") == "out_of_bounds");
  CHECK(word(honest_body + "\n  ((float*)x)[0] += 1;") == "out_of_bounds");  // inputs are mapped read-only
  CHECK(word(honest_body + "\n  return 3;") == "refused");
  CHECK(word("  for (;;) __asm__ volatile(\"\");") == "timeout");
  CHECK(word("  nonsense") == "build_failed");
  CHECK(word("  static int calls; if (++calls > 1) return 0;\n" + honest_body) == "unwritten");
  CHECK(word("  volatile float deep[1 << 20]; deep[0] = x[0]; deep[(1 << 20) - 1] = 1;\n" + honest_body) == "passed");
}

TEST_CASE("the counter, the emulator and other memory are out of a kernel's reach") {
  if (skipped()) return;
  const auto stopped = [](const std::string& body, const std::string& before = "") {
    const auto e = evaluated(shared_evaluator(), kernel(body + honest_body, before), harness::effort::quick);
    INFO(e.outcome, ": ", e.detail);
    return e.outcome == "refused" || e.outcome == "out_of_bounds" || e.outcome == "crashed";
  };
  CHECK(stopped("  unsigned long n; __asm__ volatile(\"rdinstret %0\" : \"=r\"(n));\n"));
  CHECK(stopped("  __asm__ volatile(\"csrw minstret, zero\");\n"));
  CHECK(stopped("  __asm__ volatile(\"csrw pmpcfg0, zero\");\n"));
  CHECK(stopped("  __asm__ volatile(\"mret\");\n"));
  CHECK(stopped("  *(volatile long*)0x80000000ul = 0;\n"));                         // the harness's own code
  CHECK(stopped("  volatile long v = *(volatile long*)0x80001000ul; (void)v;\n"));  // and its memory
  CHECK(stopped("  volatile long v = *(volatile long*)0x0200bff8ul; (void)v;\n"));  // the timer
  // A request to the emulator: in user mode the three instructions are an ordinary breakpoint.
  CHECK(stopped(
      "  register long a0 __asm__(\"a0\") = 0x20; register long a1 __asm__(\"a1\") = 0;\n"
      "  __asm__ volatile(\".balign 16\\n.option push\\n.option norvc\\nslli x0, x0, 0x1f\\nebreak\\nsrai x0, x0, 7\\n.option pop\" : : "
      "\"r\"(a0), \"r\"(a1) : \"memory\");\n"));
  // The harness's entry points are symbols of the same image; their code is not executable in user mode.
  CHECK(stopped("  host_call(1, 0);\n", "long host_call(long, void*);\n"));
}

TEST_CASE("a kernel can't take the place of the harness's own symbols or sections") {
  if (skipped()) return;
  const auto outcome = [](const std::string& before) {
    return evaluated(shared_evaluator(), kernel(honest_body, before), harness::effort::quick).outcome;
  };
  CHECK(outcome("void machine_main(void) {}\n") == "build_failed");
  CHECK(outcome("void _start(void) {}\n") == "build_failed");
  CHECK(outcome("long host_call(long n, void* b) { (void)b; return n; }\n") == "build_failed");
  CHECK(outcome("int run_in_user_mode(void) { return 0; }\n") == "build_failed");
  // The borders of protected memory are the linker script's, whatever a kernel calls so.
  CHECK(outcome("char user_data_end[1 << 20], user_code_begin[8], user_stack_top[8];\n") == "passed");
  // Code for a section of the harness's name lands among the kernel's own; nothing calls it there.
  CHECK(outcome("__attribute__((section(\".text.machine\"), used)) static void early(void) { __builtin_trap(); }\n") == "passed");
}
