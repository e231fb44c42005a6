// Stand-in, see cuda_runtime.h beside this: copies that are late would be found on a device only; here they are done at once.
#pragma once

#include <cstddef>
#include <cstring>

static inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  std::memcpy(to, from, bytes - zeros);
  std::memset(static_cast<char*>(to) + bytes - zeros, 0, zeros);
}
static inline void __pipeline_commit() {}
static inline void __pipeline_wait_prior(size_t) {}
