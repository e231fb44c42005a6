#include "actors/commands/generated_baseline.hpp"

#include "agents/synthesis/opencl/opencl_grammar.hpp"
#include "backends/targets.hpp"

namespace kernsmith::actors {

result<problem> with_naive_of(const problem& p, const std::string& target) {
  problem given = p;
  if (backends::language_of(target) != "opencl" || p.statements.empty()) return given;
  for (baseline_spec& baseline : given.baselines) {
    if (baseline.builtin != "naive" || baseline.source) continue;
    auto plain = agents::opencl::plain_opencl_source(p);
    if (!plain) return tl::unexpected(plain.error());
    baseline.source = source_file{"opencl", "the generated naive baseline", std::move(*plain), baseline.name};
  }
  return given;
}

}  // namespace kernsmith::actors
