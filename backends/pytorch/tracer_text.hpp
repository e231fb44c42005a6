// The tracer's Python files, which travel in the program.
#pragma once

#include <string_view>
#include <vector>

namespace kernsmith::pytorch {

struct tracer_file {
  std::string_view name;  ///< "main.py"
  std::string_view text;
};

[[nodiscard]] const std::vector<tracer_file>& tracer_files();

}  // namespace kernsmith::pytorch
