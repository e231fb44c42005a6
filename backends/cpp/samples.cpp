#include "backends/cpp/samples.hpp"

namespace kernsmith::cpp {

nlohmann::json samples_of(const std::vector<workload_measurement>& measured) {
  nlohmann::json samples = {
      {"schema", "kernsmith.samples/1"}, {"unit", "ns per call, outside clock"}, {"workloads", nlohmann::json::array()}};
  for (const workload_measurement& m : measured) {
    nlohmann::json blocks = nlohmann::json::array();
    bool visible = false;
    for (std::size_t b = 0; b < m.blocks.size(); ++b) {
      const harness::timing_block& block = m.blocks[b];
      blocks.push_back({{"launch", block.launch}, {"candidate", block.candidate_ns}, {"baseline", block.baseline_ns}});
      if (b >= m.conditions.size() || !m.conditions[b].before.visible()) continue;
      const auto& [before, after] = m.conditions[b];
      visible = true;
      blocks.back()["mhz"] = {before.mhz, after.mhz};
      blocks.back()["celsius"] = {before.celsius, after.celsius};
      blocks.back()["throttlings"] = after.throttlings - before.throttlings;
    }
    samples["workloads"].push_back({{"axes", m.timing.axes},
                                    {"stopping_rule", m.stopping_rule},
                                    {"interleaved", m.paired},
                                    {"clocks", visible ? "with each block" : "not visible here"},
                                    {"stopped_early", m.stopped_early},
                                    {"blocks", std::move(blocks)},
                                    {"cold", m.cold_ns}});
  }
  return samples;
}

}  // namespace kernsmith::cpp
