// Kernels of row programs: threads along a row (reductions over threads), or threads across rows (maps; reductions in a thread).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/simt/simt_program.hpp"

namespace kernsmith::agents::simt {

/// Where the values of a row that several sweeps read stay meanwhile.
enum class keeping : std::uint8_t { registers, shared, again };

/// The decisions for threads along rows.
struct inner_choice {
  std::int64_t vector = 4;   ///< elements per access
  std::int64_t vectors = 4;  ///< accesses per thread and tensor that a row is spread for
  std::int64_t block = 128;  ///< threads per block at least, where rows have fewer
  std::int64_t splits = 1;   ///< blocks that share one row, by way of scratch memory
  std::int64_t cluster = 1;  ///< blocks that share one row that is kept, where a block would be crowded
  keeping keep = keeping::registers;
  bool stream_loads = false, stream_stores = false;
};

/// The decisions for threads across rows.
struct across_choice {
  std::int64_t vector = 4;  ///< neighbouring rows per thread
  std::int64_t items = 1;   ///< maps: packs per thread and step
  std::int64_t threads = 256;
  std::int64_t slices = 1;  ///< threads that share the sweep of one row
  std::int64_t splits = 1;  ///< blocks that share it
  std::int64_t tile = 0;    ///< maps of transposed inputs: edge of the tiles that go through shared memory; 0: none
  bool bank_copies = true;  ///< few borders that are searched stand in every bank of shared memory
  bool stream_loads = false, stream_stores = false;
};

struct row_code {
  std::string functions;
  std::string scratch_bytes;
  std::set<std::string> preludes;
};

/// A load that neighbouring elements along `lane` are read by whole packs: last index alone and `lane`, nothing outside.
[[nodiscard]] bool is_packed(const simt_program& p, int statement, int node, int lane);
/// Is the target of the statement written by whole packs along `lane`?
[[nodiscard]] bool is_packed_target(const simt_program& p, int statement, int lane);
/// Can one row be shared by several blocks: a single sweep that only reduces, over values that no row value goes into?
[[nodiscard]] bool can_split(const simt_program& p, const row::plan& plan);

/// The one class that all sweeps run over, or nothing: then threads can't lie along it.
[[nodiscard]] std::optional<int> inner_lane(const simt_program& p);
[[nodiscard]] row_code write_inner(const simt_program& p, const simt_model& model, const inner_choice& choice);

/// Threads lie along this parallel class; nothing when there is none, or a scan.
[[nodiscard]] std::optional<int> across_lane(const simt_program& p);
/// The other parallel class along which some load of a map is contiguous while it isn't along the lane: tiles then go through shared
/// memory.
[[nodiscard]] std::optional<int> tile_class(const simt_program& p);

/// A kernel that takes tiles, and the statements of the host function that start it where it can be.
struct tile_code {
  std::string functions, start;
};
[[nodiscard]] tile_code write_tile(const simt_program& p, const across_choice& choice);
[[nodiscard]] row_code write_across(const simt_program& p, const across_choice& choice);

/// Transactions per element, roughly, when neighbouring threads take neighbours along `lane`.
[[nodiscard]] double access_cost(const simt_program& p, int lane);

/// What a row keeps between sweeps, and the sizes of its packed elements.
struct row_traffic {
  std::int64_t kept_bytes_per_element = 0;
  int kept_tensors = 0;
  std::int64_t widest = 1, narrowest = 16;
};
[[nodiscard]] row_traffic traffic_along(const simt_program& p, int lane);

/// `const ks_ix b = ...;` for classes numbered by `from`, the last one fastest.
[[nodiscard]] std::vector<std::string> unpack_classes(const simt_program& p, const std::vector<int>& classes, const std::string& from);

}  // namespace kernsmith::agents::simt
