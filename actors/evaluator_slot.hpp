// EVALUATOR and BUILDER: one device slot of this host. Both block (compilers, kernels): spawn detached, once, for the life of the process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/core_plan.hpp"
#include "actors/interfaces.hpp"
#include "actors/slot_lease.hpp"

namespace kernsmith::actors {

/// Opens the evaluator of a problem for a target on some cores. Tests put their own here.
using evaluator_factory = std::function<result<std::unique_ptr<harness::evaluator>>(const problem& p, const std::string& target,
                                                                                    const std::vector<int>& cores, std::uint64_t seed)>;

/// Profiles a source whose passed evaluation is given: signals, without a diagnosis. Tests put their own here; empty: no profiles.
using profiler_factory =
    std::function<result<memory::profile>(const problem& p, const std::string& target, const std::vector<int>& cores, std::uint64_t seed,
                                          const std::string& source, const memory::evaluation& measured)>;

/// The admitted problems of one slot, by session. A builder compiles through the same evaluator while the slot measures another candidate.
class admitted_problems {
 public:
  void put(const std::string& session, std::shared_ptr<harness::evaluator> opened);
  [[nodiscard]] std::shared_ptr<harness::evaluator> get(const std::string& session) const;
  void drop(const std::string& session);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<harness::evaluator>> open_;
};

struct slot_config {
  std::vector<int> cores;
  evaluator_factory open;
  std::shared_ptr<admitted_problems> admitted;
  std::shared_ptr<core_gate> gate;
  std::shared_ptr<slot_lease> lease;  ///< taken before the gate
  profiler_factory profile;
};

struct evaluator_state {
  static inline const char* name = "evaluator";
  slot_config config;
};
struct builder_state {
  static inline const char* name = "builder";
  slot_config config;
};

evaluator_actor::behavior_type evaluator_slot(evaluator_actor::stateful_pointer<evaluator_state> self, slot_config config);
builder_actor::behavior_type builder_slot(builder_actor::stateful_pointer<builder_state> self, slot_config config);

}  // namespace kernsmith::actors
