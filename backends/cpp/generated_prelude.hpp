// The fixed text at the head of every generated reference and naive source: element conversions and the arithmetic whose corner cases the
// definition language fixes (NaN in max and min, saturation of casts, wrap-around of integers).
#pragma once

#include <string>

namespace kernsmith::cpp {

[[nodiscard]] const std::string& generated_prelude();

}  // namespace kernsmith::cpp
