#include "actors/caf.hpp"
//
#include "actors/librarian.hpp"

#include "memory/similarity.hpp"

namespace kernsmith::actors {
namespace {

recall_result recall(const memory::store& store, const std::string& problem_hash, const std::string& target) {
  auto found = store.resumable(problem_hash, target);
  if (!found) return tl::unexpected(found.error());
  recalled_session recalled;
  recalled.session = *found;
  recalled.history.candidates = store.candidates_of(found->id);
  recalled.history.evaluations = store.evaluations_of(found->id);
  for (const memory::candidate& c : recalled.history.candidates) {
    auto source = store.get_blob(c.source_blob);
    if (!source) return tl::unexpected(source.error());
    recalled.history.sources[c.id] = *source;
  }
  return recalled;
}

// Champions of near problems. The index holds problem hashes; a problem of which nothing was ever found has no champion and drops out.
similar_list similar(const memory::store& store, const problem& p, const std::string& target, std::size_t count) {
  similar_list list;
  auto index = memory::similarity_index::open(store, "problem");
  if (!index) {
    spdlog::warn("no warm start: {}", index.error().message);
    return list;
  }
  auto near = (*index)->nearest(memory::problem_features(p), 4 * count);
  if (!near) return list;
  const std::vector<memory::champion> champions = store.champions();
  for (const memory::neighbour& n : *near) {
    for (const memory::champion& c : champions) {
      if (c.problem != n.id || c.target != target || list.size() >= count) continue;
      if (auto stored = store.get_candidate(c.candidate)) list.push_back({*stored, c.problem_name, n.similarity});
    }
  }
  return list;
}

commit_result commit(librarian_actor::stateful_pointer<librarian_state> self, memory::write_batch& batch) {
  commit_result committed = self->state.config.store->commit(std::move(batch), true);
  if (committed && self->state.config.publisher) self->send(self->state.config.publisher, publish_atom::value, *committed);
  return committed;
}

}  // namespace

librarian_actor::behavior_type librarian(librarian_actor::stateful_pointer<librarian_state> self, librarian_config config) {
  guard(self, librarian_state::name);
  self->state.config = std::move(config);
  return {
      [self](commit_atom, const batch_ptr& batch) { return commit(self, *batch); },
      [self](crown_atom, const batch_ptr& batch, const memory::champion& champion) {
        const auto reigning = self->state.config.store->get_champion(champion.problem, champion.target, champion.device);
        if (!reigning || champion.speedup > reigning->speedup) {
          batch->put(champion);
          batch->emit("champion.new", nlohmann::json(champion));
        }
        return commit(self, *batch);
      },
      [self](recall_atom, const std::string& problem_hash, const std::string& target) {
        return recall(*self->state.config.store, problem_hash, target);
      },
      [self](similar_atom, const problem_ptr& task, const std::string& target, std::uint64_t count) {
        return similar(*self->state.config.store, *task, target, count);
      },
      [self](replace_atom, const publisher_actor& publisher) { self->state.config.publisher = publisher; },
  };
}

}  // namespace kernsmith::actors
