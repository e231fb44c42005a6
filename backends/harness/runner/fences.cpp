#include "backends/harness/runner/fences.hpp"

#include <dlfcn.h>

#include "backends/harness/guarded_mapping.hpp"

namespace kernsmith::runner {

namespace {

using range_function = void (*)(const void*, std::size_t);

/// Null where the process runs without AddressSanitizer, as it does but for `evaluate --strict`.
range_function sanitizer_function(const char* name) {
  return reinterpret_cast<range_function>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void fence(std::byte* start, std::size_t mapped_bytes, std::byte* data, std::size_t bytes) {
  static const range_function poison = sanitizer_function("__asan_poison_memory_region");
  if (poison == nullptr) return;
  const std::byte* const first = start - harness::guard_bytes;
  const std::byte* const last = start + mapped_bytes + harness::guard_bytes;
  poison(first, static_cast<std::size_t>(data - first));
  poison(data + bytes, static_cast<std::size_t>(last - (data + bytes)));
}

void remove_fence(std::byte* start, std::size_t mapped_bytes) {
  static const range_function unpoison = sanitizer_function("__asan_unpoison_memory_region");
  if (unpoison != nullptr) unpoison(start - harness::guard_bytes, mapped_bytes + 2 * harness::guard_bytes);
}

}  // namespace kernsmith::runner
