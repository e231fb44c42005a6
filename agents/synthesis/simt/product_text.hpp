// Source texts of products on the ordinary arithmetic units. `@NAME@` marks what the emitter fills in (contraction_grammar_templates.hpp).
#pragma once

#include <string_view>

namespace kernsmith::agents::simt {

extern const std::string_view product_tiles_text;  ///< once per file: how tiles get into shared memory and from there to registers
extern const std::string_view product_kernel_text;
extern const std::string_view product_copies_text, product_loads_text;  ///< of that: the ways that tiles come
extern const std::string_view product_join_text;                        ///< results of a split depth

}  // namespace kernsmith::agents::simt
