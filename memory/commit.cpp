// The way of a batch into the store: keys, indexes and event numbers are decided here, then everything is written at once.
#include <chrono>
#include <ctime>
#include <random>
#include <set>

#include <fmt/format.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include "config/hash.hpp"
#include "memory/batch.hpp"
#include "memory/codec.hpp"
#include "memory/keys.hpp"
#include "memory/rocks_store.hpp"

namespace kernsmith::memory {
namespace {

std::string now_rfc3339() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec, milliseconds % 1000);
}

/// Tells one store from any other, for as long as events are kept: subscribers compare it.
std::string new_stream_id() {
  std::random_device random;
  return make_id("stream",
                 fmt::format("{:08x}{:08x}{:08x}{:08x} {} {}", random(), random(), random(), random(), ::getpid(), now_rfc3339()));
}

}  // namespace

/// One batch on its way. Counters start from the store's and become the store's only when the write has succeeded.
struct rocks_store::commit_state {
  const rocks_store& store;
  std::uint64_t seq, ordinal;
  std::string time = now_rfc3339();
  rocksdb::WriteBatch out;
  std::vector<event> events;
  std::set<std::string> blobs;                         ///< written by this batch
  std::map<std::string, std::string> new_evaluations;  ///< index key -> key, written by this batch
  std::set<std::string> new_sessions;
  std::optional<error> failure;

  commit_state(const rocks_store& s, std::uint64_t last_seq, std::uint64_t last_ordinal) : store(s), seq(last_seq), ordinal(last_ordinal) {}

  void put(family f, const std::string& key, const std::string& value) {
    out.Put(store.db_->handle(f), key, value).PermitUncheckedError();  // fails only for batches with a size limit, which this has not
  }

  void operator()(const pending::session_write& w) {
    put(family::sessions, w.id, w.bytes);
    if (!new_sessions.insert(w.id).second || store.present(family::sessions, w.id)) return;
    put(family::session_order, big_endian(++ordinal), w.id);
  }

  void operator()(const pending::candidate_write& w) {
    const auto key = ended(w.session) + big_endian(w.move) + w.id;
    put(family::candidates, key, w.bytes);
    put(family::candidate_index, ended(w.id) + ended(w.session) + big_endian(w.move), key);
  }

  void operator()(const pending::evaluation_write& w) {
    const auto index_key = ended(w.id) + w.session;
    std::string key;
    if (const auto written = new_evaluations.find(index_key); written != new_evaluations.end()) {
      key = written->second;
    } else if (auto stored = store.read(family::evaluation_index, index_key)) {
      key = *std::move(stored);
    } else {
      key = ended(w.session) + big_endian(++ordinal);
      put(family::evaluation_index, index_key, key);
      put(family::evaluations_by_candidate, ended(w.candidate) + big_endian(ordinal), key);
      new_evaluations.emplace(index_key, key);
    }
    put(family::evaluations, key, w.bytes);
  }

  void operator()(const pending::keyed_write& w) { put(w.is_champion ? family::champions : family::problems, w.key, w.bytes); }

  void operator()(const pending::vector_write& w) {
    put(family::vectors, ended(w.kind) + w.id, w.bytes);
    put(family::meta, "vectors/" + w.kind, big_endian(++ordinal));
  }

  void operator()(const pending::blob_write& w) {
    if (!blobs.insert(w.hash).second || store.present(family::blobs, w.hash)) return;
    put(family::blobs, w.hash, w.bytes);
  }

  void operator()(pending::event_write& w) {
    event e{store.stream_, ++seq, std::move(w.topic), time, std::move(w.payload)};
    const auto bytes = encode_record(e);
    if (bytes.size() > max_record_bytes) {
      failure = error{fault::bug, fmt::format("an event of {} bytes on topic {} is longer than the limit of {}", bytes.size(), e.topic,
                                              max_record_bytes)};
    }
    put(family::events, big_endian(e.seq), bytes);
    if (seq > max_kept_events) out.Delete(store.db_->handle(family::events), big_endian(seq - max_kept_events)).PermitUncheckedError();
    events.push_back(std::move(e));
  }
};

result<std::vector<event>> rocks_store::commit(write_batch batch, bool durable) {
  auto& given = contents(batch);
  if (given.first_error) return tl::unexpected(*given.first_error);
  if (db_->read_only())
    return fail(fault::missing_here, fmt::format("the data directory {} was opened for reading only", directory().string()));
  const std::lock_guard guard(commit_mutex_);
  // Looking first keeps RocksDB out of its failed state, from which only a new start leads back.
  if (const auto free = free_bytes(directory()); free < min_free_bytes + given.bytes) {
    auto e = disk_full(directory(), free);
    e.kind = fault::infrastructure;
    return tl::unexpected(std::move(e));
  }
  commit_state state(*this, seq_, ordinal_);
  for (auto& write : given.writes) std::visit(state, write);
  if (state.failure) return tl::unexpected(*state.failure);
  if (state.ordinal != ordinal_) state.put(family::meta, "ordinal", big_endian(state.ordinal));
  rocksdb::WriteOptions options;
  options.sync = durable;
  if (const auto status = db_->rocks().Write(options, &state.out); !status.ok())
    return tl::unexpected(translate(status, "write to", directory()));
  seq_ = state.seq;
  ordinal_ = state.ordinal;
  return std::move(state.events);
}

result<void> rocks_store::start() {
  if (const auto schema = read(family::meta, "schema"); !schema) {
    if (!schema.error().message.empty()) return tl::unexpected(schema.error());
    if (db_->read_only())
      return fail(fault::missing_here, fmt::format("there is no data in {} yet; run 'kernsmith optimize' first", directory().string()));
    rocksdb::WriteBatch first;
    rocksdb::WriteOptions options;
    options.sync = true;
    stream_ = new_stream_id();
    first.Put(db_->handle(family::meta), "schema", big_endian(schema_version)).PermitUncheckedError();
    first.Put(db_->handle(family::meta), "stream", stream_).PermitUncheckedError();
    if (const auto status = db_->rocks().Write(options, &first); !status.ok())
      return tl::unexpected(translate(status, "write to", directory()));
    return {};
  }
  auto stream = read(family::meta, "stream");
  if (!stream)
    return fail(fault::corrupt, fmt::format("the data directory {} has lost its stream id; restore it from a copy", directory().string()));
  stream_ = *std::move(stream);
  ordinal_ = from_big_endian(read(family::meta, "ordinal").value_or(std::string{}));
  const std::unique_ptr<rocksdb::Iterator> last(db_->rocks().NewIterator(rocksdb::ReadOptions(), db_->handle(family::events)));
  last->SeekToLast();
  if (last->Valid()) seq_ = from_big_endian(last->key().ToStringView());
  if (!last->status().ok()) return tl::unexpected(translate(last->status(), "read", directory()));
  return {};
}

result<std::unique_ptr<store>> store::open(const std::filesystem::path& directory, bool read_only) {
  auto db = database::open(directory, read_only);
  if (!db) return tl::unexpected(db.error());
  auto opened = std::make_unique<rocks_store>(*std::move(db));
  if (auto started = opened->start(); !started) return tl::unexpected(started.error());
  return opened;
}

}  // namespace kernsmith::memory
