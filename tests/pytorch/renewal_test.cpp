// A hosted baseline's process gives way to another that has nothing of it but the interpreter and its libraries.
#include <csignal>

#include "backends/cpp/kernel_process.hpp"
#include "tests/pytorch/pytorch_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

/// A baseline whose process remembers how often it was called, in the interpreter, in the environment and in a file of its sandbox's
/// memory.
const char* const counting = R"(import os, torch
calls = 0
def launch(inputs, outputs, stream):
    global calls
    calls += 1
    outputs[0].fill_(calls + 100 * int(os.environ.get("CALLED", "0")))
    outputs[1].fill_(False)
    os.environ["CALLED"] = "1"
)";

const char* const dying = R"(import os, signal
def launch(inputs, outputs, stream):
    os.kill(os.getpid(), signal.SIGFPE)
)";

struct hosted_process {
  problem p = problem_named("affine_function");
  cpp::kernel_clock clock;
  std::unique_ptr<cpp::kernel_buffers> buffers;
  std::unique_ptr<cpp::kernel_process> process;

  explicit hosted_process(const std::string& source) {
    const harness::evaluator_options options = quick_options();
    baseline_spec spec{"counting", "", source_file{"python", "counting.py", source, "counting.py"}};
    harness::runner_options runner;
    runner.library = value_of(options.hosted->baseline(p, spec, false)).library;
    runner.cores = {0};
    runner.trusted = true;
    options.hosted->prepare(runner);
    buffers = value_of(cpp::make_buffers(p, p.workloads.front().axes, harness::guard_side::after, cpp::output_form::native));
    process = std::make_unique<cpp::kernel_process>(value_of(cpp::kernel_process::start(runner, clock)));
  }

  float called() {
    const harness::call_result answer = value_of(process->call({buffers.get()}, 20));
    REQUIRE_MESSAGE(answer.status == harness::call_status::ok, answer.detail);
    return *reinterpret_cast<const float*>(buffers->outputs.front().data());
  }
};

}  // namespace

TEST_CASE("a renewed process begins from nothing") {
  if (skipped()) return;
  hosted_process hosted(counting);
  CHECK(hosted.called() == 1);
  CHECK(hosted.called() == 102);
  const double used_ns = hosted.process->cpu_ns();
  CHECK(used_ns > 0);
  for (int round = 0; round < 20; ++round) {
    CHECK(value_of(hosted.process->renew()));
    CHECK(hosted.called() == 1);
    CHECK(hosted.process->cpu_ns() > 0);
    CHECK(hosted.called() == 102);
  }
  // It stands still and is thawed like any other: what is looked at from outside is the process that serves.
  const harness::call_result still = value_of(hosted.process->call({hosted.buffers.get()}, 20, cpp::after_call::stands_still));
  CHECK(still.status == harness::call_status::ok);
  CHECK_MESSAGE(hosted.process->stayed_frozen(), hosted.process->what_moved());
  CHECK(value_of(hosted.process->renew()));
  CHECK(hosted.called() == 1);
}

TEST_CASE("the end of the process that serves is the runner's end, by the same signal") {
  if (skipped()) return;
  hosted_process hosted(dying);
  const harness::call_result answer = value_of(hosted.process->call({hosted.buffers.get()}, 20));
  CHECK(answer.status == harness::call_status::crashed);
  CHECK_MESSAGE(answer.detail.find("SIGFPE") != std::string::npos, answer.detail);
  CHECK_FALSE(hosted.process->alive());
  CHECK_FALSE(value_of(hosted.process->renew()));
}
