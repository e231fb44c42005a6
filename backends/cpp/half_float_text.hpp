// half_float.h as text, under the name of the type that it stands in for.
#pragma once

#include <string_view>

namespace kernsmith::cpp {

[[nodiscard]] std::string_view half_float_text();

}  // namespace kernsmith::cpp
