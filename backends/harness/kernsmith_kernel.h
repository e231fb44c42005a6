/* The whole of what a compiled candidate sees of Kernsmith.
 *
 * A kernel is one function:
 *
 *     extern "C" int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx);
 *
 * Inputs and outputs come in the order in which the problem file declares them. Buffers are row-major, 64-byte aligned, do not overlap,
 * and belong to the caller: inputs must not be written, every element of every output must be. Return 0; any other value
 * means that the kernel refuses this case ("refused").
 */
#ifndef KERNSMITH_KERNEL_H
#define KERNSMITH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types; the values are stable. bf16 and f16 are 16-bit patterns, f8 are 8-bit patterns (OCP E4M3fn and E5M2), bool is one byte, 0 or 1. */
enum ks_dtype {
  KS_F64 = 0, KS_F32 = 1, KS_F16 = 2, KS_BF16 = 3, KS_F8E4M3 = 4, KS_F8E5M2 = 5,
  KS_I64 = 6, KS_I32 = 7, KS_I16 = 8, KS_I8 = 9, KS_U8 = 10, KS_BOOL = 11
};

typedef struct ks_tensor {
  void* data;
  int32_t dtype;          /* enum ks_dtype */
  int32_t rank;
  const int64_t* shape;   /* rank extents */
  const int64_t* strides; /* rank strides, in elements */
} ks_tensor;

typedef struct ks_launch {
  void* stream;             /* device stream; NULL on CPUs */
  void* workspace;          /* scratch that survives between calls; contents are unspecified */
  size_t workspace_bytes;
  int32_t device;
  int32_t threads;          /* CPU threads the kernel may use */
  const int64_t* axes;      /* extents of the problem's axes, in file order */
  int32_t n_axes;
} ks_launch;

#ifdef __cplusplus
}

/* A tunable parameter: KS_PARAM(TILE_M, 64, 16, 32, 64, 128) declares the integer constant TILE_M with the value 64 and says that 16, 32,
 * 64 and 128 may be tried. The search rewrites the second argument. */
#define KS_PARAM(name, value, ...) static constexpr long long name = (value)
#else
#define KS_PARAM(name, value, ...) enum { name = (value) }
#endif

#endif
