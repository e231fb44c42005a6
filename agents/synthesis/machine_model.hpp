// The numbers about a CPU that schedule decisions are made from.
#pragma once

#include <cstdint>
#include <string>

namespace kernsmith::agents {

struct machine_model {
  std::string isa = "x86-64-v3";  ///< x86-64-v3 (AVX2 + FMA) or x86-64-v4 (AVX-512)
  int vector_bytes = 32;          ///< width of one SIMD register: 32 or 64
  int vector_registers = 16;      ///< 16 or 32
  int cores = 1;                  ///< cores a kernel may use
  std::int64_t l1_bytes = 32 << 10;
  std::int64_t l2_bytes = 1 << 20;  ///< per core
  std::int64_t l3_bytes = 16 << 20;
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
};

/// Reads this machine (CPUID and the kernel's cache description); `cores` limits the kernel's threads.
[[nodiscard]] machine_model describe_host(int cores);

}  // namespace kernsmith::agents
