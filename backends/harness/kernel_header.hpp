// The text of kernsmith_kernel.h, carried in the program.
#pragma once

#include <string_view>

namespace kernsmith::harness {

[[nodiscard]] std::string_view kernel_header_text();

}  // namespace kernsmith::harness
