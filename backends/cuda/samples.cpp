#include "backends/cuda/samples.hpp"

#include "backends/cuda/cupti.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double device_time_timeout_s = 20, device_time_calls = 20;
/// CUPTI's own share and another clock rate stay far below.
constexpr double disagreement_factor = 1.5, disagreement_ns = 5e3;

}  // namespace

result<void> count_device_time(workbench& bench, kernel_process& process, std::vector<workload_measurement>& measured) {
  const auto cupti = find_cupti();
  if (!cupti) return {};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double timeout_s = device_time_timeout_s + device_time_calls * measured[i].timing.median_ns * 1e-9;
    auto counted = process.device_time(*bench.workloads()[i]->verified, *cupti, timeout_s);
    if (!counted && counted.error().kind == fault::interrupted) return tl::unexpected(counted.error());
    if (!counted || counted->status != harness::call_status::ok || counted->inside_ns.empty()) return {};
    measured[i].device_ns = counted->inside_ns.front();
  }
  return {};
}

bool accounts_disagree(const workload_measurement& m) {
  return m.device_ns > disagreement_factor * m.timing.median_ns + disagreement_ns;
}

nlohmann::json samples_of(const std::vector<workload_measurement>& measured, const problem& p) {
  nlohmann::json samples = {
      {"schema", "kernsmith.samples/1"}, {"unit", "ns per call, outside clock"}, {"workloads", nlohmann::json::array()}};
  for (const workload_measurement& m : measured) {
    nlohmann::json blocks = nlohmann::json::array(), states = nlohmann::json::array();
    for (const harness::timing_block& block : m.blocks)
      blocks.push_back({{"launch", block.launch}, {"candidate", block.candidate_ns}, {"baseline", block.baseline_ns}});
    for (const device_state& s : m.states) {
      if (!s.known) continue;
      states.push_back({{"sm_mhz", s.sm_mhz},
                        {"memory_mhz", s.memory_mhz},
                        {"temperature_c", s.temperature_c},
                        {"power_w", s.power_mw / 1000.0},
                        {"throttle_reasons", s.throttle_reasons}});
    }
    samples["workloads"].push_back({{"axes", m.timing.axes},
                                    {"stopping_rule", m.stopping_rule},
                                    {"interleaved", m.paired},
                                    {"batch", m.batch},
                                    {"replay", p.replay == replay_mode::graph ? "graph" : "none"},
                                    {"stopped_early", m.stopped_early},
                                    {"event_ns", m.event_ns},
                                    {"device_ns", m.device_ns},
                                    {"accounts_disagree", accounts_disagree(m)},
                                    {"blocks", std::move(blocks)},
                                    {"cold", m.cold_ns},
                                    {"device_states", std::move(states)},
                                    {"discarded_blocks", m.discarded_blocks}});
  }
  return samples;
}

}  // namespace kernsmith::cuda
