// A temporary folder that is gone when the test is over.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace kernsmith::test {

class folder {
 public:
  folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-config-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const { std::ofstream(path_ / name, std::ios::binary) << content; }

 private:
  std::filesystem::path path_;
};

}  // namespace kernsmith::test
