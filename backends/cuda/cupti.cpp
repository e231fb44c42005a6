#include "backends/cuda/cupti.hpp"

namespace kernsmith::cuda {

std::optional<std::filesystem::path> find_cupti() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
                             "/usr/lib/x86_64-linux-gnu"}) {
    for (const char* name : {"libcupti.so", "libcupti.so.13", "libcupti.so.12"}) {
      const fs::path found = fs::path(folder) / name;
      if (fs::exists(found, ignored)) return fs::canonical(found, ignored);
    }
  }
  return std::nullopt;
}

}  // namespace kernsmith::cuda
