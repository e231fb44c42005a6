#include "virtual_system.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "config/hash.hpp"

namespace kernsmith::actors::testing {
namespace {

struct point {
  int a = 0, b = 0;
};

point parse(const std::string& source) {
  point p;
  if (std::sscanf(source.c_str(), "A=%d B=%d", &p.a, &p.b) != 2) throw std::runtime_error("not a fake source: " + source);
  return p;
}

// Highest at A=5, B=2.
double landscape(const point& p) {
  return 4.0 - 0.3 * std::abs(p.a - 5) - 0.5 * std::abs(p.b - 2);
}

class fake_evaluator final : public harness::evaluator {
 public:
  explicit fake_evaluator(std::shared_ptr<fake_machine> machine) : machine_(std::move(machine)) {}

  result<harness::built_kernel> build(const std::string& source) override {
    ++machine_->builds;
    harness::built_kernel kernel;
    const point p = parse(source);
    if (p.b == 3) {
      kernel.outcome = "build_failed";
      kernel.detail = "B is 3";
      return kernel;
    }
    kernel.library = source;
    kernel.machine_code = content_hash(fmt::format("{} {}", p.a, p.b < 2 ? 0 : p.b));
    kernel.build_s = 0.5;
    return kernel;
  }

  result<memory::evaluation> evaluate(const harness::built_kernel& kernel, harness::effort how) override {
    const int number = machine_->evaluations++;
    if (how == harness::effort::final) ++machine_->finals;
    machine_->clock_s += machine_->evaluation_takes_s;
    if (machine_->before_evaluation) machine_->before_evaluation(number);
    if (number == machine_->throw_on_evaluation) throw std::runtime_error("the device is on fire");
    if (machine_->vanishes_at >= 0 && number >= machine_->vanishes_at) return fail(fault::missing_here, "fake is out of order");
    memory::evaluation e;
    const point p = parse(kernel.library.string());
    e.machine_code = kernel.machine_code;
    e.stage = "quick";
    e.outcome = p.a == 0 ? "wrong_values" : "passed";
    if (p.a != 0) e.speedup = landscape(p);
    e.diagnosis = {"memory", 0.25, {{"bytes", 64}}};
    e.workloads.emplace_back();
    return e;
  }

  std::vector<memory::baseline_timing> baselines() override { return {{"naive", "time", "ns", {}}}; }
  result<memory::control_result> control() override { return memory::control_result{"no_difference", 1.0, {0.99, 1.01}}; }
  memory::fingerprint machine() const override {
    memory::fingerprint f;
    f.device = "fake";
    f.cores = 2;
    return f;
  }
  memory::cost spent() const override { return {}; }
  std::string samples_json() override { return "{}"; }

 private:
  std::shared_ptr<fake_machine> machine_;
};

class fake_generator final : public agents::generator {
 public:
  fake_generator() {
    space_.name = "rules";
    space_.decisions.push_back({"A", {0, 1, 2, 3, 4, 5, 6, 7}, {}, 1, 1.0, "first"});
    space_.decisions.push_back({"B", {0, 1, 2, 3}, {}, 0, 1.0, "second"});
  }
  const agents::decision_space& space() const override { return space_; }
  agents::assignment normalise(const agents::assignment& wanted) const override { return agents::fit(space_, wanted); }
  result<agents::proposal> generate(const agents::assignment& wanted) const override {
    agents::proposal p;
    p.decisions = normalise(wanted);
    p.source = fmt::format("A={} B={}", p.decisions.at("A"), p.decisions.at("B"));
    p.rationale = "because";
    return p;
  }

 private:
  agents::decision_space space_;
};

}  // namespace

memory::profile fake_profile() {
  memory::profile p;
  p.signals["memory_fraction"] = {0.9, "fraction", "roofline"};
  p.signals["cache_resident"] = {0, "yes or no", "roofline"};
  p.missing.push_back({"perf", "no counters", ""});
  return p;
}

evaluator_factory fake_evaluators(std::shared_ptr<fake_machine> machine) {
  return
      [machine](const problem&, const std::string&, const std::vector<int>&, std::uint64_t) -> result<std::unique_ptr<harness::evaluator>> {
        ++machine->opened;
        if (!machine->admit) return fail(fault::bad_request, "zeros pass the comparison");
        return std::make_unique<fake_evaluator>(machine);
      };
}

result<generators> fake_generators(const problem&, const std::string&, const admission&) {
  return generators{std::make_shared<fake_generator>()};
}

problem_ptr tiny_problem() {
  auto p = parse_problem(R"(
name = "tiny"
[axes]
N = 8
[inputs.x]
shape = ["N"]
dtype = "f32"
[outputs.y]
shape = ["N"]
dtype = "f32"
[definition]
text = "y[n] = x[n] + 1"
)",
                         "tiny.toml");
  if (!p) throw std::runtime_error(p.error().message);
  return std::make_shared<const problem>(std::move(*p));
}

session_request request_for(const problem_ptr& task, std::int64_t budget, std::uint64_t seed) {
  session_request request;
  request.task = task;
  request.settings.id = make_id("sess", fmt::format("{}{}", task->hash, seed));
  request.settings.problem = task->hash;
  request.settings.problem_name = task->name;
  request.settings.target = "cpp/test";
  request.settings.policy = "mcts";
  request.settings.seed = seed;
  request.settings.budget = budget;
  return request;
}

supervisor_config supervisor_for(virtual_system& world, std::shared_ptr<memory::store> store, std::shared_ptr<fake_machine> machine) {
  supervisor_config config;
  config.store = std::move(store);
  config.detached = false;
  config.fleet.cores.slots = {{0, 1}};
  config.fleet.cores.build = {0, 1};
  config.fleet.cores.builders = 2;
  config.fleet.open = fake_evaluators(machine);
  config.fleet.profile = [machine](const problem&, const std::string&, const std::vector<int>&, std::uint64_t, const std::string& source,
                                   const memory::evaluation&) -> result<memory::profile> {
    machine->profiled.push_back(source);
    return machine->profile ? machine->profile(source) : fake_profile();
  };
  config.baseline_source = [](const problem&, const std::string&) { return std::string("A=1 B=0"); };
  config.fleet.now = [&world] { return actor_time(world.scheduler.clock().now().time_since_epoch()); };
  config.make_generators = fake_generators;
  config.now = [] { return std::string("2026-01-01T00:00:00.000Z"); };
  config.clock_s = [machine] { return machine->clock_s; };
  return config;
}

}  // namespace kernsmith::actors::testing
