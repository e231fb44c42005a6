// Similarity search over problem and candidate features: a FAISS index derived from the store, rebuilt whenever it is missing, damaged or
// behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.hpp"
#include "config/problem.hpp"
#include "memory/store.hpp"

namespace kernsmith::memory {

inline constexpr std::size_t feature_dimensions = 64;
/// Goes up with any change of meaning of a feature; vectors and indexes of another version are left aside.
inline constexpr std::uint32_t feature_version = 1;

/// Unit-length features of a problem: operator mix, reduction kinds, dtypes, rank and index patterns, log-scaled extents, arithmetic
/// intensity.
[[nodiscard]] std::vector<float> problem_features(const problem& p);
/// Features of a candidate: its problem's, mixed with hashed decision name=value pairs.
[[nodiscard]] std::vector<float> candidate_features(const problem& p, const std::map<std::string, std::int64_t>& decisions);

struct neighbour {
  std::string id;
  float similarity = 0;  ///< cosine
};

class similarity_index {
 public:
  /// Loads the cached index file under the store's directory, or rebuilds it from the store's vectors of `kind`. `store` outlives the
  /// index.
  [[nodiscard]] static result<std::unique_ptr<similarity_index>> open(const store& s, std::string_view kind);
  virtual ~similarity_index() = default;
  /// The `count` most similar ids, best first.
  [[nodiscard]] virtual result<std::vector<neighbour>> nearest(const std::vector<float>& query, std::size_t count) = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Was the cached file usable, or was the index rebuilt?
  [[nodiscard]] virtual bool was_rebuilt() const = 0;
};

}  // namespace kernsmith::memory
