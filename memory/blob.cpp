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

result<std::string> pack_vector(const std::vector<float>& values) {
  if (values.empty() || values.size() > max_vector_dimensions) {
    return fail(fault::bad_request,
                fmt::format("a feature vector must have 1 to {} values, this one has {}", max_vector_dimensions, values.size()));
  }
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    return fail(fault::bad_request, "a feature vector holds a value that is not finite");
  }
  std::string out(1 + values.size() * sizeof(float), form);
  std::memcpy(out.data() + 1, values.data(), values.size() * sizeof(float));
  return out;
}

result<std::vector<float>> unpack_vector(std::string_view packed) {
  if (packed.size() < 1 + sizeof(float) || packed.front() != form || (packed.size() - 1) % sizeof(float) != 0) {
    return fail(fault::corrupt, "a stored feature vector is damaged");
  }
  std::vector<float> values((packed.size() - 1) / sizeof(float));
  std::memcpy(values.data(), packed.data() + 1, values.size() * sizeof(float));
  return values;
}

}  // namespace kernsmith::memory
