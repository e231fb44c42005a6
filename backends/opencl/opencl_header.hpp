// The text of kernsmith_opencl.h, carried in the program.
#pragma once

#include <string_view>

namespace kernsmith::opencl {

[[nodiscard]] std::string_view opencl_header_text();

}  // namespace kernsmith::opencl
