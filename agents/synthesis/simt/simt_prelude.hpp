// Pieces of device source text that emitted SIMT kernels are built on, put into a kernel as the grammars ask for them.
//
// "types" (always there)
//   ks_f16, ks_bf16, ks_f8e4m3, ks_f8e5m2: structs around the bits; to_float, from_float<T>, to_double, from_double<T>, ks_min, ks_max,
//   ks_sigmoid, ks_saturate, ks_inside, ks_add, ks_subtract, ks_multiply as on CPUs (prelude.hpp), on host and device.
//   ks_start(kernel, grid, block, shared bytes, stream, arguments...): launches and returns a cudaError_t as int.
//   ks_multiprocessors(), KS_DYNAMIC_SHARED(name), ks_blocks(items, per block, at most): a grid size that a launch can have.
// "vectors"
//   ks_pack<T, V>: V elements, aligned to their size up to 16 bytes. ks_load<V, kStream>(const T*), ks_store<V, kStream>(T*, pack): whole
//   aligned packs. ks_fetch, ks_put<V, kEdge, kStream>: packs whose elements first .. first + V - 1 may lie outside of [0, extent).
//   ks_fetch_ahead<V, kEdge>: the same into the thread's own shared memory while it goes on, there after ks_wait_ahead().
// "fast"
//   ks_fast_exp, ks_fast_log, ks_fast_pow, ks_fast_tanh, ks_fast_erf, ks_fast_sigmoid on floats by the hardware's approximations: within a
//   few parts in 10^7 of 1, or of the result where the argument's size is moderate; infinities and NaN as the accurate ones have them.
// "reduce"
//   ks_reduce<kThreads>(value, merge): over kThreads neighbouring threads (a power of two up to 32, or the whole block), to all of them.
//   ks_scan<kThreads>(value, identity, merge, &total): exclusive, in thread order. ks_position<T>: a value and where it stands.
// "search"
//   ks_counter<kLevels>::plant(borders, count, shared memory): fewer than 2^kLevels borders (0: any number) in shared memory, in any order
//   they come; count<kStrict>(x, below): how many are at or below each x (strict: below). bytes(count): shared memory it takes.
//   ks_search_levels(count): the fewest levels.
#pragma once

#include <set>
#include <string>

#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

/// Text of `pieces` ("types" always) in CUDA C++ or HIP C++, each once, in dependency order.
[[nodiscard]] std::string simt_prelude_text(const std::set<std::string>& pieces, dialect language);

/// C++ type of a stored element on devices: "float", "ks_bf16", "ks_f16", ...
[[nodiscard]] std::string simt_storage_type(dtype type);

}  // namespace kernsmith::agents::simt
