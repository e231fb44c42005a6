// The rules generator over the SIMT grammars.
#include <utility>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/simt/gemm_grammar.hpp"
#include "agents/synthesis/simt/simt_assembly.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

simt_model model_of(const memory::device_facts& facts, dialect language) {
  simt_model model;
  model.language = language;
  if (!facts.architecture.empty()) model.architecture = facts.architecture;
  const auto take = [](std::int64_t& into, std::int64_t value) {
    if (value > 0) into = value;
  };
  take(model.multiprocessors, facts.multiprocessors);
  take(model.warp_size, facts.warp_size);
  take(model.threads_per_multiprocessor, facts.threads_per_multiprocessor);
  take(model.registers_per_multiprocessor, facts.registers_per_multiprocessor);
  take(model.shared_bytes_per_multiprocessor, facts.shared_bytes_per_multiprocessor);
  take(model.shared_bytes_per_block, facts.shared_bytes_per_block);
  take(model.l2_bytes, facts.l2_bytes);
  if (facts.memory_gb_per_s > 0) model.memory_gb_per_s = facts.memory_gb_per_s;
  return model;
}

result<std::unique_ptr<generator>> make_simt_rules_generator(const problem& p, const memory::device_facts& facts, dialect language) {
  if (language != dialect::cuda) return fail(fault::bad_request, "the rules synthesizer writes CUDA only, not yet HIP or OpenCL");
  const simt_model model = model_of(facts, language);
  grammar_list grammars;
  grammars.push_back(make_gemm_grammar(model, p.precision.lowest));
  grammars.push_back(make_contraction_grammar(model));
  grammars.push_back(make_row_grammar(model));
  grammars.push_back(make_plain_grammar(model));
  const auto assemble = [model](const std::string& name, const tensor_ir& ir, const std::vector<assembled_group>& groups) {
    return assemble_simt_source(name, model, ir, groups);
  };
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, std::move(grammars), assemble);
  if (!made) return tl::unexpected(made.error());
  return std::unique_ptr<generator>(std::move(*made));
}

}  // namespace kernsmith::agents::simt
