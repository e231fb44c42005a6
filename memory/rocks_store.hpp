// The store over RocksDB. Reading may happen on any thread; one mutex orders commits.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "memory/database.hpp"
#include "memory/store.hpp"

namespace kernsmith::memory {

/// The outbox keeps this many events; older ones go as new ones come.
inline constexpr std::uint64_t max_kept_events = 1'000'000;
/// An ambiguous prefix names at most this many of the ids it stands for.
inline constexpr std::size_t max_named_ids = 8;

class rocks_store final : public store {
 public:
  explicit rocks_store(std::unique_ptr<database> db) : db_(std::move(db)) {}

  /// Reads the counters; on a new store writes schema and stream id.
  [[nodiscard]] result<void> start();

  [[nodiscard]] result<std::vector<event>> commit(write_batch batch, bool durable) override;
  [[nodiscard]] result<session> get_session(std::string_view id) const override;
  [[nodiscard]] result<candidate> get_candidate(std::string_view id) const override;
  [[nodiscard]] result<evaluation> get_evaluation(std::string_view id) const override;
  [[nodiscard]] result<std::string> get_blob(std::string_view content_hash) const override;
  [[nodiscard]] std::vector<session> sessions() const override;
  [[nodiscard]] std::vector<candidate> candidates_of(std::string_view session_id) const override;
  [[nodiscard]] std::vector<evaluation> evaluations_of(std::string_view session_id) const override;
  [[nodiscard]] result<session> resumable(std::string_view problem_hash, std::string_view target,
                                          const std::function<bool(const session&)>& matches) const override;
  [[nodiscard]] result<problem_text> get_problem(std::string_view hash) const override;
  [[nodiscard]] std::vector<evaluation> evaluations_for_candidate(std::string_view candidate_id) const override;
  [[nodiscard]] result<champion> get_champion(std::string_view problem_hash, std::string_view target,
                                              std::string_view device) const override;
  [[nodiscard]] std::vector<champion> champions() const override;
  [[nodiscard]] std::vector<event> events(std::uint64_t from, std::size_t limit) const override;
  [[nodiscard]] std::string stream_id() const override { return stream_; }
  [[nodiscard]] std::uint64_t last_seq() const override { return seq_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<float>>> vectors(std::string_view kind) const override;
  [[nodiscard]] std::uint64_t vector_version(std::string_view kind) const override;
  [[nodiscard]] const std::filesystem::path& directory() const override { return db_->directory(); }
  [[nodiscard]] std::uint64_t unreadable_records() const override { return unreadable_; }

 private:
  struct commit_state;  ///< one batch on its way (commit.cpp)

  /// Value of a key; bad_request with an empty message when it is not there.
  [[nodiscard]] result<std::string> read(family f, std::string_view key) const;
  [[nodiscard]] bool present(family f, std::string_view key) const;
  /// Calls visit(key, value) for each key that starts with `prefix`, in order, until it returns false.
  template <class Visit>
  void scan(family f, std::string_view prefix, Visit visit) const;
  /// The record that an index says is there: its absence is damage.
  template <class Record>
  [[nodiscard]] result<Record> record_at(family f, std::string_view key) const;
  /// The records under `prefix` in order.
  template <class Record>
  [[nodiscard]] std::vector<Record> records(family f, std::string_view prefix) const;
  /// The whole id that `prefix` stands for, and the first key that begins with it.
  struct found_id {
    std::string id, key;
  };
  [[nodiscard]] result<found_id> find_id(family f, std::string_view kind, std::string_view tag, std::string_view prefix) const;

  std::unique_ptr<database> db_;
  std::mutex commit_mutex_;
  std::string stream_;
  std::atomic<std::uint64_t> seq_ = 0;
  std::uint64_t ordinal_ = 0;  ///< number of the last ordered write; orders sessions, evaluations and vectors
  mutable std::atomic<std::uint64_t> unreadable_ = 0;
};

}  // namespace kernsmith::memory
