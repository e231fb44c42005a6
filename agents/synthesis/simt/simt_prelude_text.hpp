// The SIMT prelude's pieces as text: CUDA C++17, which g++ compiles as well with the tests' stand-in for the CUDA runtime.
#pragma once

#include <string_view>

namespace kernsmith::agents::simt {

extern const std::string_view simt_types_text;
extern const std::string_view simt_vectors_text;
extern const std::string_view simt_fast_text;
extern const std::string_view simt_reduce_text;
extern const std::string_view simt_search_text;

}  // namespace kernsmith::agents::simt
