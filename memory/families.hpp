// The column families of the store, in the order in which they are opened. Adding one is a change of schema (memory/store.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kernsmith::memory {

enum class family : std::uint8_t {
  unused,                    ///< RocksDB insists on a family named "default"; it stays empty
  meta,                      ///< "schema", "stream", "ordinal", "vectors/<kind>" -> number or text
  sessions,                  ///< session id -> session
  session_order,             ///< ordinal -> session id
  candidates,                ///< session id, move, candidate id -> candidate
  candidate_index,           ///< candidate id, session id, move -> key in candidates
  evaluations,               ///< session id, ordinal -> evaluation
  evaluation_index,          ///< evaluation id, session id -> key in evaluations
  evaluations_by_candidate,  ///< candidate id, ordinal -> key in evaluations
  champions,                 ///< problem hash, target, device -> champion
  problems,                  ///< problem hash -> {hash, name, text}
  blobs,                     ///< content hash -> compressed bytes
  events,                    ///< seq -> event
  vectors,                   ///< kind, id -> version byte, floats
};

struct family_description {
  family id;
  std::string_view name;
  bool compressed;  ///< by RocksDB; blobs are compressed already
};

inline constexpr std::size_t family_count = 14;

inline constexpr std::array<family_description, family_count> families{{
    {family::unused, "default", false},
    {family::meta, "meta", false},
    {family::sessions, "sessions", true},
    {family::session_order, "session_order", false},
    {family::candidates, "candidates", true},
    {family::candidate_index, "candidate_index", true},
    {family::evaluations, "evaluations", true},
    {family::evaluation_index, "evaluation_index", true},
    {family::evaluations_by_candidate, "evaluations_by_candidate", true},
    {family::champions, "champions", true},
    {family::problems, "problems", true},
    {family::blobs, "blobs", false},
    {family::events, "events", true},
    {family::vectors, "vectors", false},
}};

namespace detail {
consteval bool in_enum_order() {
  for (std::size_t i = 0; i < family_count; ++i) {
    if (static_cast<std::size_t>(families[i].id) != i) return false;
  }
  return true;
}
static_assert(in_enum_order());
}  // namespace detail

}  // namespace kernsmith::memory
