// The store: RocksDB behind one class. One process opens a data directory at a time; one thread (the librarian) writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/error.hpp"
#include "memory/records.hpp"

namespace kernsmith::memory {

inline constexpr std::uint32_t schema_version = 1;

/// Records that become visible together, with their outbox events. Order is kept.
class write_batch {
 public:
  write_batch();
  ~write_batch();
  write_batch(write_batch&&) noexcept;
  write_batch& operator=(write_batch&&) noexcept;
  void put(const session& r);
  void put(const candidate& r);
  void put(const evaluation& r);
  void put(const champion& r);
  /// Problem file text by problem hash, so that any stored result can be explained later.
  void put_problem(const std::string& hash, const std::string& name, const std::string& text);
  /// Feature vector for similarity search; `kind` is "problem" or "candidate". Must be finite.
  void put_vector(std::string_view kind, const std::string& id, const std::vector<float>& values);
  /// Content-addressed, zstd-compressed, stored once. Returns the content hash.
  std::string put_blob(std::string_view bytes);
  void emit(std::string topic, nlohmann::json payload);

 private:
  friend class store;
  struct impl;
  std::unique_ptr<impl> impl_;
};

class store {
 public:
  /// Creates the directory when missing. Errors (missing_here): in use by another process, not writable, disk full, of a newer schema
  /// (nothing is touched). `read_only` opens an existing store without the lock and without creating anything.
  [[nodiscard]] static result<std::unique_ptr<store>> open(const std::filesystem::path& directory, bool read_only = false);
  virtual ~store() = default;

  /// Atomic and, when `durable`, synced: once it returns, neither kill -9 nor (when durable) a power cut loses it. Returns the events with
  /// their sequence numbers. Errors: infrastructure (disk full, lost disk: nothing of the batch is there afterwards, reads go on), bug (a
  /// record without an id, too long), bad_request (a blob that is too long), missing_here (opened read-only).
  [[nodiscard]] virtual result<std::vector<event>> commit(write_batch batch, bool durable = true) = 0;

  /// `id` may be a unique prefix, with or without its "sess-" part. Errors (bad_request): none, or several (which are named).
  [[nodiscard]] virtual result<session> get_session(std::string_view id) const = 0;
  [[nodiscard]] virtual result<candidate> get_candidate(std::string_view id) const = 0;
  [[nodiscard]] virtual result<evaluation> get_evaluation(std::string_view id) const = 0;
  [[nodiscard]] virtual result<std::string> get_blob(std::string_view content_hash) const = 0;
  [[nodiscard]] virtual std::vector<session> sessions() const = 0;  ///< oldest first
  /// In order of move number.
  [[nodiscard]] virtual std::vector<candidate> candidates_of(std::string_view session_id) const = 0;
  /// In the order in which they were first written.
  [[nodiscard]] virtual std::vector<evaluation> evaluations_of(std::string_view session_id) const = 0;
  /// The newest unfinished session of problem x target for which `matches` holds (same policy, seed, budget: the caller says); without it,
  /// any. Errors (bad_request): there is none.
  [[nodiscard]] virtual result<session> resumable(std::string_view problem_hash, std::string_view target,
                                                  const std::function<bool(const session&)>& matches = {}) const = 0;
  /// By hash or unique prefix. Errors (bad_request): none, or several.
  [[nodiscard]] virtual result<problem_text> get_problem(std::string_view hash) const = 0;
  /// Any passed or failed evaluation of this candidate id on this device and flags, whatever session it came from.
  [[nodiscard]] virtual std::vector<evaluation> evaluations_for_candidate(std::string_view candidate_id) const = 0;
  [[nodiscard]] virtual result<champion> get_champion(std::string_view problem_hash, std::string_view target,
                                                      std::string_view device) const = 0;
  [[nodiscard]] virtual std::vector<champion> champions() const = 0;
  /// Events with seq >= from, at most `limit`.
  [[nodiscard]] virtual std::vector<event> events(std::uint64_t from, std::size_t limit) const = 0;
  [[nodiscard]] virtual std::string stream_id() const = 0;
  [[nodiscard]] virtual std::uint64_t last_seq() const = 0;
  /// All vectors of a kind that today's feature version made, id -> values.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::vector<float>>> vectors(std::string_view kind) const = 0;
  /// Sequence number of the last vector write of a kind: tells whether an index is behind.
  [[nodiscard]] virtual std::uint64_t vector_version(std::string_view kind) const = 0;
  [[nodiscard]] virtual const std::filesystem::path& directory() const = 0;
  /// Records that the list queries above left out because they could not be read; 0 in a healthy store.
  [[nodiscard]] virtual std::uint64_t unreadable_records() const = 0;

 protected:
  /// What a batch holds, for the implementation.
  [[nodiscard]] static write_batch::impl& contents(write_batch& batch) { return *batch.impl_; }
};

}  // namespace kernsmith::memory
