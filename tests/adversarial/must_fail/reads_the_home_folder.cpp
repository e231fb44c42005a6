// expect: refused
// problem: affine
// effort: search
// origin: contract
// why: looks for stored results, or any file of the user, where they might lie
#include "kernsmith_kernel.h"

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <system_error>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  namespace fs = std::filesystem;
  for (const char* folder : {"/home", "/root", "/work", "/var", "/run", "/srv", "/opt", "/mnt", "/etc", "/tmp"}) {
    std::error_code failed;
    for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed), end; at != end;
         at.increment(failed)) {
      const bool ours = at->path().extension() == ".so" || at->path().filename() == "kernsmith-runner";
      const bool systems = at->path().string().starts_with("/etc/ld.so") || at->path().string().starts_with("/etc/alternatives");
      if (at->is_regular_file(failed) && !ours && !systems) {
        fputs(at->path().c_str(), stderr);
        return 0;
      }
    }
  }
  return 1;  // nothing but its own library
}
