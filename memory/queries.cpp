#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "memory/blob.hpp"
#include "memory/codec.hpp"
#include "memory/keys.hpp"
#include "memory/rocks_store.hpp"
#include "memory/similarity.hpp"

namespace kernsmith::memory {

result<std::string> rocks_store::read(family f, std::string_view key) const {
  std::string value;
  const auto status = db_->rocks().Get(rocksdb::ReadOptions(), db_->handle(f), rocksdb::Slice(key.data(), key.size()), &value);
  if (status.ok()) return value;
  if (status.IsNotFound()) return fail(fault::bad_request, "");
  return tl::unexpected(translate(status, "read", directory()));
}

bool rocks_store::present(family f, std::string_view key) const {
  rocksdb::PinnableSlice value;
  return db_->rocks().Get(rocksdb::ReadOptions(), db_->handle(f), rocksdb::Slice(key.data(), key.size()), &value).ok();
}

template <class Visit>
void rocks_store::scan(family f, std::string_view prefix, Visit visit) const {
  const std::unique_ptr<rocksdb::Iterator> it(db_->rocks().NewIterator(rocksdb::ReadOptions(), db_->handle(f)));
  const rocksdb::Slice start(prefix.data(), prefix.size());
  for (it->Seek(start); it->Valid() && it->key().starts_with(start); it->Next()) {
    if (!visit(it->key().ToStringView(), it->value().ToStringView())) return;
  }
  if (!it->status().ok()) ++unreadable_;
}

template <class Record>
result<Record> rocks_store::record_at(family f, std::string_view key) const {
  const auto bytes = read(f, key);
  if (bytes) return decode_record<Record>(*bytes);
  if (!bytes.error().message.empty()) return tl::unexpected(bytes.error());
  return fail(fault::corrupt,
              fmt::format("a record that the index names is missing in {}; restore the directory from a copy", directory().string()));
}

template <class Record>
std::vector<Record> rocks_store::records(family f, std::string_view prefix) const {
  std::vector<Record> out;
  scan(f, prefix, [&](std::string_view, std::string_view value) {
    if (auto record = decode_record<Record>(value)) {
      out.push_back(*std::move(record));
    } else {
      ++unreadable_;
    }
    return true;
  });
  return out;
}

result<rocks_store::found_id> rocks_store::find_id(family f, std::string_view kind, std::string_view tag, std::string_view prefix) const {
  if (prefix.empty()) return fail(fault::bad_request, fmt::format("an empty {} id was given", kind));
  const std::string whole = tag.empty() || prefix.starts_with(tag) ? std::string(prefix) : std::string(tag) + std::string(prefix);
  std::vector<found_id> found;
  bool exact = false;
  scan(f, whole, [&](std::string_view key, std::string_view) {
    const auto id = first_name(key);
    exact = id == whole;
    if (exact || found.empty() || found.back().id != id) found.push_back({std::string(id), std::string(key)});
    return !exact && found.size() <= max_named_ids;  // an id sorts before every longer one that begins with it
  });
  if (exact) return std::move(found.back());
  if (found.empty()) {
    return fail(fault::bad_request, fmt::format("there is no {} '{}' in {}; check the id, or name another data directory with --data", kind,
                                                prefix, directory().string()));
  }
  if (found.size() == 1) return std::move(found.front());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(found.size(), max_named_ids); ++i) names.push_back(found[i].id);
  return fail(fault::bad_request, fmt::format("'{}' stands for several {}s: {}{}; give more of the id", prefix, kind,
                                              fmt::join(names, ", "), found.size() > max_named_ids ? ", ..." : ""));
}

result<session> rocks_store::get_session(std::string_view id) const {
  const auto found = find_id(family::sessions, "session", "sess-", id);
  if (!found) return tl::unexpected(found.error());
  return record_at<session>(family::sessions, found->key);
}

result<candidate> rocks_store::get_candidate(std::string_view id) const {
  const auto found = find_id(family::candidate_index, "candidate", "cand-", id);
  if (!found) return tl::unexpected(found.error());
  // The same source may have been made in several sessions; the newest tells the story best.
  result<candidate> newest =
      fail(fault::corrupt, fmt::format("candidate {} is in the index of {} but not in its records", found->id, directory().string()));
  scan(family::candidate_index, ended(found->id), [&](std::string_view, std::string_view key) {
    auto record = record_at<candidate>(family::candidates, key);
    if (!newest || (record && record->created >= newest->created)) newest = std::move(record);
    return true;
  });
  return newest;
}

result<evaluation> rocks_store::get_evaluation(std::string_view id) const {
  const auto found = find_id(family::evaluation_index, "evaluation", "eval-", id);
  if (!found) return tl::unexpected(found.error());
  const auto key = read(family::evaluation_index, found->key);
  if (!key) return tl::unexpected(key.error());
  return record_at<evaluation>(family::evaluations, *key);
}

result<std::string> rocks_store::get_blob(std::string_view content_hash) const {
  auto packed = read(family::blobs, content_hash);
  if (packed) return unpack_blob(*packed, content_hash);
  if (!packed.error().message.empty()) return tl::unexpected(packed.error());
  return fail(fault::bad_request, fmt::format("there is no blob '{}' in {}", content_hash, directory().string()));
}

std::vector<session> rocks_store::sessions() const {
  std::vector<session> out;
  scan(family::session_order, "", [&](std::string_view, std::string_view id) {
    auto record = record_at<session>(family::sessions, id);
    if (record) {
      out.push_back(*std::move(record));
    } else {
      ++unreadable_;
    }
    return true;
  });
  return out;
}

std::vector<candidate> rocks_store::candidates_of(std::string_view session_id) const {
  return records<candidate>(family::candidates, ended(session_id));
}

std::vector<evaluation> rocks_store::evaluations_of(std::string_view session_id) const {
  return records<evaluation>(family::evaluations, ended(session_id));
}

result<session> rocks_store::resumable(std::string_view problem_hash, std::string_view target,
                                       const std::function<bool(const session&)>& matches) const {
  auto all = sessions();
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    if (it->problem != problem_hash || it->target != target || it->state == "finished") continue;
    if (!matches || matches(*it)) return std::move(*it);
  }
  return fail(fault::bad_request, fmt::format("there is no unfinished session of this problem for {} in {}; start one without --resume",
                                              target, directory().string()));
}

result<problem_text> rocks_store::get_problem(std::string_view hash) const {
  const auto found = find_id(family::problems, "problem", "", hash);
  if (!found) return tl::unexpected(found.error());
  return record_at<problem_text>(family::problems, found->key);
}

std::vector<evaluation> rocks_store::evaluations_for_candidate(std::string_view candidate_id) const {
  std::vector<evaluation> out;
  scan(family::evaluations_by_candidate, ended(candidate_id), [&](std::string_view, std::string_view key) {
    auto record = record_at<evaluation>(family::evaluations, key);
    if (record) {
      out.push_back(*std::move(record));
    } else {
      ++unreadable_;
    }
    return true;
  });
  return out;
}

result<champion> rocks_store::get_champion(std::string_view problem_hash, std::string_view target, std::string_view device) const {
  auto bytes = read(family::champions, ended(problem_hash) + ended(target) + std::string(device));
  if (bytes) return decode_record<champion>(*bytes);
  if (!bytes.error().message.empty()) return tl::unexpected(bytes.error());
  return fail(fault::bad_request,
              fmt::format("there is no champion of problem {} for {} on {} in {}", problem_hash, target, device, directory().string()));
}

std::vector<champion> rocks_store::champions() const {
  return records<champion>(family::champions, "");
}

std::vector<event> rocks_store::events(std::uint64_t from, std::size_t limit) const {
  std::vector<event> out;
  const std::unique_ptr<rocksdb::Iterator> it(db_->rocks().NewIterator(rocksdb::ReadOptions(), db_->handle(family::events)));
  for (it->Seek(big_endian(from)); it->Valid() && out.size() < limit; it->Next()) {
    if (auto record = decode_record<event>(it->value().ToStringView())) {
      out.push_back(*std::move(record));
    } else {
      ++unreadable_;
    }
  }
  if (!it->status().ok()) ++unreadable_;
  return out;
}

std::vector<std::pair<std::string, std::vector<float>>> rocks_store::vectors(std::string_view kind) const {
  std::vector<std::pair<std::string, std::vector<float>>> out;
  const auto prefix = ended(kind);
  scan(family::vectors, prefix, [&](std::string_view key, std::string_view value) {
    auto values = unpack_vector(value, feature_version);
    if (!values) ++unreadable_;
    if (values && !values->empty()) out.emplace_back(std::string(key.substr(prefix.size())), *std::move(values));
    return true;
  });
  return out;
}

std::uint64_t rocks_store::vector_version(std::string_view kind) const {
  return from_big_endian(read(family::meta, fmt::format("vectors/{}", kind)).value_or(std::string{}));
}

}  // namespace kernsmith::memory
