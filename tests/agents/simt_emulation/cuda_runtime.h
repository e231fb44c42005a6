// A stand-in for the CUDA runtime with which g++ compiles emitted kernels and runs them on the CPU: blocks one after another, the threads
// of a block as fibers that take turns at barriers and shuffles. It finds wrong indices, missing barriers in one thread order, reads past
// guarded buffers and deadlocks; it says nothing about speed. Only what emitted sources use is here.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#ifndef EMULATED_WARP
#define EMULATED_WARP 32
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

struct uint3 { unsigned x = 0, y = 0, z = 0; };
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) float4 { float x, y, z, w; };
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// Of the thread that runs.
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

using cudaStream_t = void*;
enum cudaError_t : int { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };

static inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
/// Few multiprocessors: grids stay small and every thread strides.
static inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 2, cudaSuccess; }
static inline cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFree(void* pointer) { return std::free(pointer), cudaSuccess; }
static inline cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  return std::memset(pointer, value, bytes), cudaSuccess;
}
template <class F>
static cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute, int) { return cudaSuccess; }

namespace emulation {

constexpr size_t stack_bytes = 128 << 10;
constexpr unsigned warp = EMULATED_WARP, most_threads = 1024, most_blocks = 8;  // of a cluster
constexpr size_t static_shared_stride = 4096;
constexpr size_t most_shared_bytes = 227 << 10;

/// One thread of the running block.
struct fiber {
  ucontext_t context;
  uint3 index;
  unsigned number = 0, block = 0;  ///< among the cluster's threads; its block within the cluster
  bool done = false;
  unsigned long cluster_barriers = 0, block_barriers = 0, warp_barriers = 0;  ///< arrived at
};

struct machine {
  std::vector<fiber> fibers;
  std::unique_ptr<char[]> stacks;
  ucontext_t scheduler;
  fiber* now = nullptr;
  std::function<void()> body;
  unsigned char* shared = nullptr;  ///< of the cluster's first block; the others follow
  size_t shared_stride = 0;
  unsigned threads = 0;  ///< per block
  uint3 first_block;     ///< of the cluster
  uint64_t exchange[most_threads * most_blocks];
  bool progressed = false;
};
static machine m;

static void start() {
  m.body();
  m.now->done = true;
  m.progressed = true;
  swapcontext(&m.now->context, &m.scheduler);
}

static inline void take_turns() { swapcontext(&m.now->context, &m.scheduler); }

/// Waits until all living threads among [first, last) have arrived as often as this one.
static inline void arrive(unsigned long fiber::*count, unsigned first, unsigned last) {
  fiber* const me = m.now;
  const unsigned long mine = ++(me->*count);
  m.progressed = true;
  for (;;) {
    bool all = true;
    for (unsigned i = first; i < last && all; ++i) all = m.fibers[i].done || m.fibers[i].*count >= mine;
    if (all) return;
    take_turns();
  }
}
static inline void arrive_cluster() { arrive(&fiber::cluster_barriers, 0, unsigned(m.fibers.size())); }
static inline void arrive_block() {
  const unsigned first = m.now->block * m.threads;
  arrive(&fiber::block_barriers, first, first + m.threads);
}
static inline void arrive_warp() {
  const unsigned start = m.now->block * m.threads, first = start + (m.now->number - start) / warp * warp, end = start + m.threads;
  arrive(&fiber::warp_barriers, first, first + warp < end ? first + warp : end);
}

/// All blocks of a cluster at once.
static void run_cluster(unsigned blocks) {
  const unsigned threads = m.threads * blocks;
  m.fibers.assign(threads, fiber{});
  for (unsigned number = 0; number < threads; ++number) {
    const unsigned t = number % m.threads;
    fiber& f = m.fibers[number];
    f.number = number;
    f.block = number / m.threads;
    f.index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = m.stacks.get() + number * stack_bytes;
    f.context.uc_stack.ss_size = stack_bytes;
    f.context.uc_link = nullptr;
    makecontext(&f.context, start, 0);
  }
  for (bool forward = true;; forward = !forward) {  // alternate orders: a missing barrier shows in one of them
    m.progressed = false;
    bool alive = false;
    for (unsigned i = 0; i < threads; ++i) {
      fiber& f = m.fibers[forward ? i : threads - 1 - i];
      if (f.done) continue;
      alive = true;
      m.now = &f;
      threadIdx = f.index;
      blockIdx = m.first_block;
      blockIdx.x += f.block;
      swapcontext(&m.scheduler, &f.context);
    }
    if (!alive) return;
    if (!m.progressed) {
      std::fprintf(stderr, "emulation: the threads of a block wait for each other\n");
      std::abort();
    }
  }
}

static cudaError_t run(dim3 grid, dim3 block, size_t shared_bytes, unsigned cluster, const std::function<void()>& body) {
  const unsigned threads = block.x * block.y * block.z;
  if (threads == 0 || threads > most_threads || shared_bytes > most_shared_bytes || grid.x == 0 || grid.y == 0 || grid.y > 65535 || grid.z == 0 ||
      cluster > most_blocks || grid.x % cluster != 0)
    return cudaErrorInvalidConfiguration;
  if (!m.stacks) m.stacks.reset(new char[size_t(most_threads) * most_blocks * stack_bytes]);
  m.shared_stride = (shared_bytes + 127) / 128 * 128;
  std::unique_ptr<unsigned char[]> shared(new unsigned char[m.shared_stride * cluster + 128]);
  m.shared = reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(shared.get()) + 127) & ~uintptr_t(127));
  m.body = body;
  m.threads = threads;
  gridDim = grid;
  blockDim = block;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; x += cluster) {
        m.first_block = {x, y, z};
        std::memset(m.shared, 0xA5, m.shared_stride * cluster);
        run_cluster(cluster);
      }
  return cudaSuccess;
}

template <class T, class F>
static T shuffle(T value, F from) {
  static_assert(sizeof(T) <= 8);
  arrive_warp();
  std::memcpy(&m.exchange[m.now->number], &value, sizeof(T));
  arrive_warp();
  const unsigned start = m.now->block * m.threads, place = m.now->number - start;
  const unsigned source = start + place / warp * warp + unsigned(from(int(place % warp)));
  T got = value;
  if (source < m.fibers.size()) std::memcpy(&got, &m.exchange[source], sizeof(T));
  return got;
}

}  // namespace emulation

#define KS_DYNAMIC_SHARED(name) unsigned char* const name = emulation::m.shared + emulation::m.now->block * emulation::m.shared_stride
/// Every block of a cluster has its own; at fixed distances, so that peers find each other's.
#define KS_STATIC_SHARED(name, bytes)                                                                \
  alignas(16) static unsigned char name##_of_blocks[emulation::most_blocks][emulation::static_shared_stride]; \
  static_assert(bytes <= emulation::static_shared_stride);                                           \
  unsigned char* const name = name##_of_blocks[emulation::m.now->block]
static inline void ks_cluster_barrier() { emulation::arrive_cluster(); }
static inline void* ks_cluster_peer(void* mine, int rank) {
  return static_cast<unsigned char*>(mine) + (rank - int(emulation::m.now->block)) * int(emulation::static_shared_stride);
}

static inline void __syncthreads() { emulation::arrive_block(); }
static inline void __syncwarp(unsigned = 0xffffffffu) { emulation::arrive_warp(); }
static inline void __threadfence() {}
template <class T>
static T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::shuffle(value, [mask](int lane) { return lane ^ mask; });
}
template <class T>
static T __shfl_up_sync(unsigned, T value, unsigned distance) {
  return emulation::shuffle(value, [distance](int lane) { return lane < int(distance) ? lane : lane - int(distance); });
}
template <class T>
static T __shfl_sync(unsigned, T value, int source) {
  return emulation::shuffle(value, [source](int) { return source; });
}
template <class T>
static T __ldcs(const T* from) { return *from; }
template <class T>
static void __stcs(T* to, T value) { *to = value; }
template <class T>
static T __ldg(const T* from) { return *from; }
static inline unsigned atomicAdd(unsigned* at, unsigned value) {
  const unsigned before = *at;
  *at += value;
  return before;
}
#define __fdividef(a, b) ((a) / (b))
#define __expf(x) expf(x)
#define __log2f(x) log2f(x)
#define __logf(x) logf(x)
#define __frcp_rn(x) (1.0f / (x))

enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    struct { unsigned x, y, z; } clusterDim;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
template <class... Parameters>
static cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* how, void (*kernel)(Parameters...), Parameters... arguments) {
  const unsigned cluster = how->numAttrs > 0 ? how->attrs[0].val.clusterDim.x : 1;
  return emulation::run(how->gridDim, how->blockDim, how->dynamicSmemBytes, cluster, [=] { kernel(arguments...); });
}

#include "warp_products.h"
