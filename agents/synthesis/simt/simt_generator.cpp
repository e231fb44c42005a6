// The rules generator over the SIMT grammars.
#include <algorithm>
#include <utility>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/simt/gemm_grammar.hpp"
#include "agents/synthesis/simt/simt_assembly.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

namespace {

/// What one HIP text needs in order to be right on AMD and on NVIDIA devices alike.
void fit_hip(simt_model& model) {
  // Rows share a wave only where they fit 32 threads, the narrower of the two widths; reductions over more use the width that there is.
  model.warp_size = 32;
  constexpr std::int64_t lds_bytes = 64 << 10, kept_for_reductions = 1 << 10;  // of a work-group on AMD: CDNA's and RDNA's ISA documents
  model.shared_bytes_per_block = std::min(model.shared_bytes_per_block, lds_bytes - kept_for_reductions);
  model.shared_bytes_per_multiprocessor = std::min(model.shared_bytes_per_multiprocessor, lds_bytes);
}

}  // namespace

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
  if (language == dialect::hip) fit_hip(model);
  return model;
}

result<std::unique_ptr<generator>> make_simt_rules_generator(const problem& p, const memory::device_facts& facts, dialect language) {
  if (language != dialect::cuda && language != dialect::hip)
    return fail(fault::bad_request, "the rules synthesizer writes CUDA and HIP, not yet OpenCL");
  const simt_model model = model_of(facts, language);
  grammar_list grammars;
  if (language == dialect::cuda) grammars.push_back(make_gemm_grammar(model, p.precision.lowest));  // its matrix units are NVIDIA's
  grammars.push_back(make_contraction_grammar(model));
  grammars.push_back(make_product_grammar(model, p.precision.lowest));
  grammars.push_back(make_window_grammar(model));
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
