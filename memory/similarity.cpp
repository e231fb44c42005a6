#include "memory/similarity.hpp"

#include <algorithm>
#include <cmath>

#include <faiss/IndexFlat.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#include <fmt/format.h>
#include <omp.h>

#include "memory/index_file.hpp"

namespace kernsmith::memory {
namespace {

/// FAISS's exact search is fastest on one thread at our sizes, and the setting belongs to the calling thread.
class one_thread {
 public:
  one_thread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~one_thread() { omp_set_num_threads(before_); }
  one_thread(const one_thread&) = delete;
  one_thread& operator=(const one_thread&) = delete;

 private:
  int before_;
};

/// False when there is no direction to normalise: not finite, or zero.
bool normalise(std::vector<float>& v) {
  double square = 0;
  for (const float x : v) square += static_cast<double>(x) * static_cast<double>(x);
  if (!std::isfinite(square) || square <= 0) return false;
  for (float& x : v) x = static_cast<float>(static_cast<double>(x) / std::sqrt(square));
  return true;
}

class flat_index final : public similarity_index {
 public:
  flat_index(std::unique_ptr<faiss::IndexFlat> index, std::vector<std::string> ids, bool rebuilt)
      : index_(std::move(index)), ids_(std::move(ids)), rebuilt_(rebuilt) {}

  result<std::vector<neighbour>> nearest(const std::vector<float>& query, std::size_t count) override {
    auto unit = query;
    if (unit.size() != feature_dimensions || !normalise(unit)) {
      return fail(fault::bug, fmt::format("a similarity query must have {} finite values that are not all zero; this one has {}",
                                          feature_dimensions, query.size()));
    }
    count = std::min(count, ids_.size());
    if (count == 0) return std::vector<neighbour>{};
    std::vector<float> similarities(count);
    std::vector<faiss::Index::idx_t> positions(count);
    try {
      const one_thread guard;
      index_->search(1, unit.data(), static_cast<faiss::Index::idx_t>(count), similarities.data(), positions.data());
    } catch (const std::exception& e) {
      return fail(fault::bug, fmt::format("similarity search failed: {}", e.what()));
    }
    std::vector<neighbour> out;
    for (std::size_t i = 0; i < count; ++i) {
      if (positions[i] < 0) continue;  // FAISS's word for "no more"
      out.push_back({ids_[static_cast<std::size_t>(positions[i])], similarities[i]});
    }
    // Equal similarities come in the order of ids, so that the same store always gives the same warm start.
    std::sort(out.begin(), out.end(), [](const neighbour& a, const neighbour& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
    });
    return out;
  }

  std::size_t size() const override { return ids_.size(); }
  bool was_rebuilt() const override { return rebuilt_; }

 private:
  std::unique_ptr<faiss::IndexFlat> index_;
  std::vector<std::string> ids_;
  bool rebuilt_;
};

/// The index in a snapshot, or null when it is not one that this program would have written.
std::unique_ptr<faiss::IndexFlat> restore(const index_snapshot& snapshot) {
  faiss::VectorIOReader reader;
  reader.data.assign(snapshot.index.begin(), snapshot.index.end());
  std::unique_ptr<faiss::Index> any;
  try {
    any.reset(faiss::read_index(&reader));
  } catch (const std::exception&) {
    return nullptr;
  }
  auto* flat = dynamic_cast<faiss::IndexFlat*>(any.get());
  if (flat == nullptr || flat->metric_type != faiss::METRIC_INNER_PRODUCT || flat->d != static_cast<int>(feature_dimensions) ||
      flat->ntotal != static_cast<faiss::Index::idx_t>(snapshot.ids.size())) {
    return nullptr;
  }
  static_cast<void>(any.release());
  return std::unique_ptr<faiss::IndexFlat>(flat);
}

struct built {
  std::unique_ptr<faiss::IndexFlat> index;
  index_snapshot snapshot;
};

built build(const store& s, std::string_view kind, const index_stamp& stamp) {
  built out;
  out.index = std::make_unique<faiss::IndexFlatIP>(static_cast<faiss::Index::idx_t>(feature_dimensions));
  out.snapshot.stamp = stamp;
  std::vector<float> all;
  for (auto& [id, values] : s.vectors(kind)) {
    auto unit = values;
    if (unit.size() != feature_dimensions || !normalise(unit)) continue;
    all.insert(all.end(), unit.begin(), unit.end());
    out.snapshot.ids.push_back(id);
  }
  const one_thread guard;
  out.index->add(static_cast<faiss::Index::idx_t>(out.snapshot.ids.size()), all.data());
  faiss::VectorIOWriter writer;
  faiss::write_index(out.index.get(), &writer);
  out.snapshot.index.assign(writer.data.begin(), writer.data.end());
  return out;
}

}  // namespace

result<std::unique_ptr<similarity_index>> similarity_index::open(const store& s, std::string_view kind) {
  if (kind.empty() || !std::all_of(kind.begin(), kind.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    return fail(fault::bug, fmt::format("'{}' is no kind of vector", kind));
  }
  const auto file = s.directory() / "index" / fmt::format("{}.faiss", kind);
  const index_stamp stamp{feature_version, feature_dimensions, s.vector_version(kind), s.stream_id()};
  try {
    if (auto cached = read_index_file(file); cached && cached->stamp == stamp) {
      if (auto index = restore(*cached)) return std::make_unique<flat_index>(std::move(index), std::move(cached->ids), false);
    }
    auto fresh = build(s, kind, stamp);
    // The file only saves time: where it can't be written (read-only, full) the index in memory is as good.
    static_cast<void>(write_index_file(file, fresh.snapshot));
    return std::make_unique<flat_index>(std::move(fresh.index), std::move(fresh.snapshot.ids), true);
  } catch (const std::exception& e) {
    return fail(fault::infrastructure, fmt::format("cannot build the similarity index over {}: {}", s.directory().string(), e.what()));
  }
}

}  // namespace kernsmith::memory
