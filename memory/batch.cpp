#include "memory/batch.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "config/hash.hpp"
#include "memory/blob.hpp"
#include "memory/codec.hpp"
#include "memory/keys.hpp"
#include "memory/similarity.hpp"

namespace kernsmith::memory {
namespace {

constexpr std::size_t max_name_bytes = 512;

/// A part of a key: not empty, of bounded length, without the byte that ends names in keys.
bool is_key_part(std::string_view text) {
  return !text.empty() && text.size() <= max_name_bytes && text.find('\0') == std::string_view::npos;
}

error bad_key(std::string_view record, std::string_view field) {
  return {fault::bug, fmt::format("a {} without a usable {} was given to the store", record, field)};
}

bool is_topic(std::string_view topic) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_'; };
  return !topic.empty() && topic.size() <= max_topic_bytes && std::all_of(topic.begin(), topic.end(), allowed);
}

}  // namespace

void write_batch::impl::add(pending::write write, std::size_t size) {
  bytes += size;
  if (size > max_record_bytes && !std::holds_alternative<pending::blob_write>(write)) {
    refuse({fault::bug, fmt::format("a record of {} bytes is longer than the limit of {}", size, max_record_bytes)});
  } else if (bytes > max_batch_bytes) {
    refuse({fault::bug, fmt::format("a batch of more than {} bytes was given to the store", max_batch_bytes)});
  } else {
    writes.push_back(std::move(write));
  }
}

void write_batch::impl::refuse(error e) {
  if (!first_error) first_error = std::move(e);
}

write_batch::write_batch() : impl_(std::make_unique<impl>()) {}
write_batch::~write_batch() = default;
write_batch::write_batch(write_batch&&) noexcept = default;
write_batch& write_batch::operator=(write_batch&&) noexcept = default;

void write_batch::put(const session& r) {
  if (!is_key_part(r.id)) return impl_->refuse(bad_key("session", "id"));
  auto bytes = encode_record(r);
  const auto size = bytes.size();
  impl_->add(pending::session_write{r.id, std::move(bytes)}, size);
}

void write_batch::put(const candidate& r) {
  if (!is_key_part(r.id)) return impl_->refuse(bad_key("candidate", "id"));
  if (!is_key_part(r.session)) return impl_->refuse(bad_key("candidate", "session"));
  if (r.move < 0) return impl_->refuse(bad_key("candidate", "move number"));
  auto bytes = encode_record(r);
  const auto size = bytes.size();
  impl_->add(pending::candidate_write{r.id, r.session, static_cast<std::uint64_t>(r.move), std::move(bytes)}, size);
}

void write_batch::put(const evaluation& r) {
  if (!is_key_part(r.id)) return impl_->refuse(bad_key("evaluation", "id"));
  if (!is_key_part(r.session)) return impl_->refuse(bad_key("evaluation", "session"));
  if (!is_key_part(r.candidate)) return impl_->refuse(bad_key("evaluation", "candidate"));
  auto bytes = encode_record(r);
  const auto size = bytes.size();
  impl_->add(pending::evaluation_write{r.id, r.session, r.candidate, std::move(bytes)}, size);
}

void write_batch::put(const champion& r) {
  if (!is_key_part(r.problem) || !is_key_part(r.target) || !is_key_part(r.device)) {
    return impl_->refuse(bad_key("champion", "problem, target or device"));
  }
  auto bytes = encode_record(r);
  const auto size = bytes.size();
  impl_->add(pending::keyed_write{true, ended(r.problem) + ended(r.target) + r.device, std::move(bytes)}, size);
}

void write_batch::put_problem(const std::string& hash, const std::string& name, const std::string& text) {
  if (!is_key_part(hash)) return impl_->refuse(bad_key("problem", "hash"));
  auto bytes = encode_record(problem_text{hash, name, text});
  const auto size = bytes.size();
  impl_->add(pending::keyed_write{false, hash, std::move(bytes)}, size);
}

void write_batch::put_vector(std::string_view kind, const std::string& id, const std::vector<float>& values) {
  if (!is_key_part(kind) || !is_key_part(id)) return impl_->refuse(bad_key("vector", "kind or id"));
  auto packed = pack_vector(values, feature_version);
  if (!packed) return impl_->refuse(packed.error());
  const auto size = packed->size();
  impl_->add(pending::vector_write{std::string(kind), id, *std::move(packed)}, size);
}

std::string write_batch::put_blob(std::string_view bytes) {
  auto hash = content_hash(bytes);
  auto packed = pack_blob(bytes);
  if (!packed) {
    impl_->refuse(packed.error());
    return hash;
  }
  const auto size = packed->size();
  impl_->add(pending::blob_write{hash, *std::move(packed)}, size);
  return hash;
}

void write_batch::emit(std::string topic, nlohmann::json payload) {
  if (!is_topic(topic)) return impl_->refuse(bad_key("event", "topic"));
  // The payload's own length is bounded when it gets its number and is encoded.
  impl_->add(pending::event_write{std::move(topic), std::move(payload)}, 0);
}

}  // namespace kernsmith::memory
