// Mapping a file between inaccessible pages; shared by the verifier and the runner, so it leans on nothing but the system.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace kernsmith::harness {

/// Inaccessible bytes on each side of a mapping: wide, so that a stride of some rows past the end is caught, too. Costs address space only.
inline constexpr std::size_t guard_bytes = std::size_t{1} << 20;
/// Mappings of at least this size start on such a boundary, so that the kernel can use huge pages where it has them for shared memory.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Maps the first `bytes` (a multiple of the page size) of `file` (-1: private zeroed memory) readable and writable between inaccessible
/// pages. A file's pages are populated; private ones are left to the threads that touch them first. Null with errno set when refused.
inline void* map_between_guards(int file, std::size_t bytes) {
  const std::size_t reserved = bytes + 2 * guard_bytes + huge_page_bytes;
  void* const reservation = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(reservation);
  const std::size_t alignment = bytes >= huge_page_bytes ? huge_page_bytes : 4096;
  const std::uintptr_t start = (begin + guard_bytes + alignment - 1) / alignment * alignment;
  // What alignment left over is given back: the reservation is exactly guard, data, guard, as unmap_with_guards() expects.
  const std::uintptr_t first = start - guard_bytes, last = start + bytes + guard_bytes, end = begin + reserved;
  if (first > begin) ::munmap(reservation, first - begin);
  if (end > last) ::munmap(reinterpret_cast<void*>(last), end - last);
  const int flags = file >= 0 ? MAP_SHARED | MAP_FIXED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  void* const mapped = ::mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (mapped == MAP_FAILED) {
    const int why = errno;
    ::munmap(reinterpret_cast<void*>(first), last - first);
    errno = why;
    return nullptr;
  }
  if (bytes >= huge_page_bytes) ::madvise(mapped, bytes, MADV_HUGEPAGE);  // a wish; refused where shared memory has no huge pages
  // Page faults belong to set-up, not to the first timed call. Failing to populate is found at the first touch.
  if (file >= 0) ::madvise(mapped, bytes, MADV_POPULATE_WRITE);
  return mapped;
}

inline void unmap_with_guards(void* mapped, std::size_t bytes) {
  ::munmap(static_cast<std::byte*>(mapped) - guard_bytes, bytes + 2 * guard_bytes);
}

}  // namespace kernsmith::harness
