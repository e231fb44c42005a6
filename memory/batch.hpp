// What a write_batch holds until commit: records already encoded, in the order given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "memory/store.hpp"

namespace kernsmith::memory {

/// Bounds on one batch: it is written, and on a power cut lost, as a whole.
inline constexpr std::size_t max_batch_bytes = std::size_t{128} << 20;
inline constexpr std::size_t max_topic_bytes = 128;

namespace pending {
struct session_write {
  std::string id, bytes;
};
struct candidate_write {
  std::string id, session;
  std::uint64_t move = 0;
  std::string bytes;
};
struct evaluation_write {
  std::string id, session, candidate, bytes;
};
/// Champions, problems: one key, one value.
struct keyed_write {
  bool is_champion = false;
  std::string key, bytes;
};
struct vector_write {
  std::string kind, id, bytes;
};
struct blob_write {
  std::string hash, bytes;
};
struct event_write {
  std::string topic;
  nlohmann::json payload;
};
using write = std::variant<session_write, candidate_write, evaluation_write, keyed_write, vector_write, blob_write, event_write>;
}  // namespace pending

struct write_batch::impl {
  std::vector<pending::write> writes;
  std::size_t bytes = 0;
  std::optional<error> first_error;  ///< commit refuses the whole batch with it

  void add(pending::write write, std::size_t size);
  void refuse(error e);
};

}  // namespace kernsmith::memory
