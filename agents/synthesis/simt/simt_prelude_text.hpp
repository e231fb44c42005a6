// The SIMT prelude's pieces as text: CUDA C++17, which g++ compiles as well with the tests' stand-in for the CUDA runtime.
#pragma once

#include <string_view>

namespace kernsmith::agents::simt {

/// What each dialect writes in its own way: ks_f16_bits() and its like; ks_start(); ks_load_once() and ks_store_once(); ks_warp,
/// ks_shuffle_xor(), ks_shuffle_up() and ks_reduce_cluster().
struct dialect_pieces {
  std::string_view conversions, launching, streaming, warps;
};
extern const dialect_pieces cuda_pieces, hip_pieces;

extern const std::string_view simt_conversions_text, simt_launching_text;
extern const std::string_view simt_types_text;
extern const std::string_view simt_vectors_text;
extern const std::string_view simt_fast_text;
extern const std::string_view simt_reduce_text;
extern const std::string_view simt_search_text;

}  // namespace kernsmith::agents::simt
