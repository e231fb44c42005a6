// emit_rules problem.toml out.cu|out.hip|out.py [architecture=sm_80] [decision=value ...]: the source that the rules for CUDA, HIP or
// Triton write, with the decisions that were asked for and the analytical model's for the rest. For measuring sources without a session
// around them.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/triton/triton_grammar.hpp"
#include "config/problem.hpp"

namespace {

using namespace kernsmith;

/// "tile=128256" sets every decision called "<group>.tile".
bool decide(agents::assignment& chosen, const std::string& wanted) {
  const std::size_t equals = wanted.find('=');
  const std::string name = wanted.substr(0, equals);
  bool known = false;
  for (auto& [decision, value] : chosen) {
    if (equals == std::string::npos || (decision != name && !decision.ends_with("." + name))) continue;
    value = std::stoll(wanted.substr(equals + 1));
    known = true;
  }
  return known;
}

int fail_with(const std::string& message) {
  fmt::print(stderr, "emit_rules: {}\n", message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fail_with("usage: emit_rules problem.toml out.cu|out.hip|out.py [architecture=sm_80] [decision=value ...]");
  const result<problem> p = load_problem(argv[1]);
  if (!p) return fail_with(p.error().message);
  const auto language = std::string_view(argv[2]).ends_with(".hip") ? agents::simt::dialect::hip : agents::simt::dialect::cuda;
  memory::device_facts facts;
  const std::string_view first = argc > 3 ? argv[3] : "";
  const bool names_architecture = first.starts_with("architecture=");
  if (names_architecture) facts.architecture = first.substr(first.find('=') + 1);
  const auto rules = std::string_view(argv[2]).ends_with(".py") ? agents::triton::make_triton_rules_generator(*p)
                                                                : agents::simt::make_simt_rules_generator(*p, facts, language);
  if (!rules) return fail_with(rules.error().message);
  agents::assignment chosen = agents::preferred_assignment((*rules)->space());
  for (int i = names_architecture ? 4 : 3; i < argc; ++i)
    if (!decide(chosen, argv[i])) return fail_with(fmt::format("no decision for '{}'", argv[i]));
  const result<agents::proposal> made = (*rules)->generate((*rules)->normalise(chosen));
  if (!made) return fail_with(made.error().message);
  std::ofstream(argv[2]) << made->source;
  fmt::print("{}: {}\n", argv[2], agents::describe((*rules)->space(), made->decisions));
  return 0;
}
