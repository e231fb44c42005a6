#include "memory/blob.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <zstd.h>

#include "config/hash.hpp"

namespace kernsmith::memory {
namespace {

constexpr char form = 1;
constexpr int zstd_level = 3;
constexpr std::size_t vector_head_bytes = 1 + sizeof(std::uint32_t);
static_assert(std::endian::native == std::endian::little, "vectors are stored as the machine holds them");

}  // namespace

result<std::string> pack_blob(std::string_view bytes) {
  if (bytes.size() > max_blob_bytes) {
    return fail(fault::bad_request,
                fmt::format("a text of {} bytes is longer than the store keeps ({} bytes)", bytes.size(), max_blob_bytes));
  }
  std::string out(1 + ZSTD_compressBound(bytes.size()), form);
  const std::size_t written = ZSTD_compress(out.data() + 1, out.size() - 1, bytes.data(), bytes.size(), zstd_level);
  if (ZSTD_isError(written) != 0)
    return fail(fault::bug, fmt::format("compressing {} bytes: {}", bytes.size(), ZSTD_getErrorName(written)));
  out.resize(1 + written);
  return out;
}

result<std::string> unpack_blob(std::string_view packed, std::string_view hash) {
  const auto damaged = [&](std::string_view why) { return fail(fault::corrupt, fmt::format("blob {} is damaged: {}", hash, why)); };
  if (packed.empty() || packed.front() != form) return damaged("unknown form");
  packed.remove_prefix(1);
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > max_blob_bytes)
    return damaged("no size that makes sense");
  std::string out(size, '\0');
  const std::size_t written = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(written) != 0) return damaged(ZSTD_getErrorName(written));
  if (written != out.size() || content_hash(std::string_view(out)) != hash) return damaged("its content has another hash");
  return out;
}

result<std::string> pack_vector(const std::vector<float>& values, std::uint32_t feature_version) {
  if (values.empty() || values.size() > max_vector_dimensions) {
    return fail(fault::bad_request,
                fmt::format("a feature vector must have 1 to {} values, this one has {}", max_vector_dimensions, values.size()));
  }
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    return fail(fault::bad_request, "a feature vector holds a value that is not finite");
  }
  std::string out(vector_head_bytes + values.size() * sizeof(float), form);
  std::memcpy(out.data() + 1, &feature_version, sizeof feature_version);
  std::memcpy(out.data() + vector_head_bytes, values.data(), values.size() * sizeof(float));
  return out;
}

result<std::vector<float>> unpack_vector(std::string_view packed, std::uint32_t feature_version) {
  if (packed.size() < vector_head_bytes + sizeof(float) || packed.front() != form ||
      (packed.size() - vector_head_bytes) % sizeof(float) != 0) {
    return fail(fault::corrupt, "a stored feature vector is damaged");
  }
  std::uint32_t made_by = 0;
  std::memcpy(&made_by, packed.data() + 1, sizeof made_by);
  if (made_by != feature_version) return std::vector<float>{};
  std::vector<float> values((packed.size() - vector_head_bytes) / sizeof(float));
  std::memcpy(values.data(), packed.data() + vector_head_bytes, values.size() * sizeof(float));
  return values;
}

}  // namespace kernsmith::memory
