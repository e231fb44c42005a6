#include "backends/harness/permitted_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace kernsmith::harness {

namespace {

struct vendor_library {
  std::string_view name, language;
  std::vector<std::string> link;
  std::vector<std::string_view> files;  ///< beginnings of the names of what it loads
  std::string_view probe;               ///< declares and calls something of it
  std::string_view remedy;
};

const std::vector<vendor_library>& known_libraries() {
  static const std::vector<vendor_library> known = {
      {"openblas",
       "cpp",
       {"-Wl,--as-needed", "-lopenblas"},
       {"libopenblas", "libgfortran.so", "libquadmath.so"},
       "extern \"C\" char* openblas_get_config(void);\nextern \"C\" char* ks_probe_openblas() { return openblas_get_config(); }\n",
       "apt-get install libopenblas-dev"},
      {"cublas",
       "cuda",
       {"-Xlinker", "--as-needed", "-lcublas"},
       {"libcublas.so", "libcublasLt.so"},
       "#include <cublas_v2.h>\nextern \"C\" int ks_probe_cublas(cublasHandle_t* handle) { return static_cast<int>(cublasCreate(handle)); "
       "}\n",
       "install cuBLAS with its headers, which comes with the CUDA toolkit (libcublas-dev)"},
  };
  return known;
}

template <class Visit>
void for_each_permitted(const problem& p, std::string_view language, const Visit& visit) {
  for (const vendor_library& library : known_libraries())
    if (library.language == language && std::find(p.libraries.begin(), p.libraries.end(), library.name) != p.libraries.end())
      visit(library);
}

/// Where a candidate can write, nothing is a vendor's.
bool writable_by_candidates(const std::filesystem::path& file) {
  const std::string folder = file.parent_path().string();
  return folder.starts_with("/tmp") || folder.starts_with("/dev");
}

}  // namespace

std::vector<std::string> link_flags_of(const problem& p, std::string_view language) {
  std::vector<std::string> flags;
  for_each_permitted(p, language,
                     [&](const vendor_library& library) { flags.insert(flags.end(), library.link.begin(), library.link.end()); });
  return flags;
}

bool is_permitted(const problem& p, std::string_view language, const std::filesystem::path& file) {
  if (writable_by_candidates(file)) return false;
  const std::string name = file.filename().string();
  bool permitted = false;
  for_each_permitted(p, language, [&](const vendor_library& library) {
    permitted =
        permitted || std::any_of(library.files.begin(), library.files.end(), [&](std::string_view f) { return name.starts_with(f); });
  });
  return permitted;
}

std::string library_probe_source(const problem& p, std::string_view language) {
  std::string source;
  for_each_permitted(p, language, [&](const vendor_library& library) { source += library.probe; });
  if (source.empty()) return source;
  return "#include \"kernsmith_kernel.h\"\n" + source +
         "extern \"C\" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) { return 0; }\n";
}

std::string library_remedy(const problem& p, std::string_view language) {
  std::string text;
  for_each_permitted(p, language,
                     [&](const vendor_library& library) { text += fmt::format("{}{}", text.empty() ? "" : "; ", library.remedy); });
  return text;
}

}  // namespace kernsmith::harness
