#include "backends/cpp/build_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "backends/cpp/machine_code.hpp"
#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace fs = std::filesystem;

namespace {

constexpr int record_version = 1;
constexpr std::size_t max_record_bytes = std::size_t{1} << 20;

tl::unexpected<error> disk_fault(const std::string& doing, const fs::path& path, int why) {
  std::string remedy;
  if (why == ENOSPC || why == EDQUOT) remedy = "; free some space there";
  if (why == EROFS || why == EACCES) remedy = "; name another folder with --data or KERNSMITH_DATA";
  return fail(fault::infrastructure, fmt::format("{} {}: {}{}", doing, path.string(), std::generic_category().message(why), remedy));
}

/// Work folders are named <pid>-<n>; what a process left that no longer runs is rubbish.
void remove_abandoned(const fs::path& work) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(work, ignored)) {
    const std::string name = entry.path().filename().string();
    int pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) fs::remove_all(entry.path(), ignored);
  }
}

/// An entry's use is the time of its record.
void remove_oldest(const fs::path& objects, std::size_t max_entries, std::size_t kept_entries) {
  std::vector<std::pair<fs::file_time_type, fs::path>> entries;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(objects, failed)) entries.emplace_back(fs::file_time_type::min(), entry.path());
  if (entries.size() <= max_entries) return;
  for (auto& [used, path] : entries) {
    const auto time = fs::last_write_time(path / "record", failed);
    if (!failed) used = time;
  }
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i + kept_entries < entries.size(); ++i) fs::remove_all(entries[i].second, failed);
}

/// What the files of a folder say, and where; empty when there is none.
std::string folder_hash(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file()) files.push_back(entry.path());
  if (files.empty()) return {};
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    all += path.lexically_relative(folder).string() + '\n' +
           content_hash(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>())) + '\n';
  }
  return content_hash(all);
}

}  // namespace

result<void> write_file(const fs::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return disk_fault("writing", path, errno);
  int why = 0;
  while (!bytes.empty() && why == 0) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put >= 0) bytes.remove_prefix(static_cast<std::size_t>(put));
    if (put < 0 && errno != EINTR) why = errno;
  }
  if (::close(file) != 0 && why == 0) why = errno;
  if (why != 0) return disk_fault("writing", path, why);
  return {};
}

result<build_cache> build_cache::open(const fs::path& root, std::size_t max_entries, std::size_t kept_entries) {
  std::error_code failed;
  build_cache made(fs::absolute(root, failed));
  for (const char* folder : {"objects", "work"}) {
    fs::create_directories(made.root_ / folder, failed);
    if (failed) return disk_fault("making the build cache", made.root_ / folder, failed.value());
  }
  if (::access((made.root_ / "work").c_str(), W_OK) != 0) return disk_fault("using the build cache", made.root_, errno);
  made.root_ = fs::canonical(made.root_, failed);
  if (failed) return disk_fault("using the build cache", root, failed.value());
  remove_abandoned(made.root_ / "work");
  remove_oldest(made.root_ / "objects", max_entries, kept_entries);
  return made;
}

std::optional<built_kernel> build_cache::find(const std::string& key) const {
  const fs::path folder = root_ / "objects" / key;
  std::ifstream file(folder / "record", std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t line = text.find('\n');
  if (line == std::string::npos || text.size() > max_record_bytes) return std::nullopt;
  const std::string_view body = std::string_view(text).substr(line + 1);
  if (content_hash(body) != std::string_view(text).substr(0, line)) return std::nullopt;
  const auto record = nlohmann::json::parse(body, nullptr, false);
  if (!record.is_object() || record.value("version", 0) != record_version) return std::nullopt;
  built_kernel kernel;
  kernel.outcome = record.value("outcome", "");
  kernel.detail = record.value("detail", "");
  kernel.log = record.value("log", "");
  kernel.machine_code = record.value("machine_code", "");
  kernel.from_cache = true;
  if (kernel.outcome.empty()) {
    kernel.library = folder / "kernel.so";
    const auto bytes = read_library(kernel.library);
    if (!bytes || content_hash(*bytes) != record.value("library_hash", "")) return std::nullopt;
    if (folder_hash(folder / "kernels") != record.value("kernels_hash", "")) return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(folder / "record", fs::file_time_type::clock::now(), ignored);  // used now: the last to be removed
  return kernel;
}

result<fs::path> build_cache::make_work_folder() const {
  static std::atomic<unsigned> next{0};
  const fs::path folder = root_ / "work" / fmt::format("{}-{}", ::getpid(), next++);
  // A process of the same number may have died here before.
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (::mkdir(folder.c_str(), 0700) != 0) return disk_fault("making", folder, errno);
  return folder;
}

result<void> build_cache::keep(const std::string& key, const fs::path& work, const std::string& library_bytes, built_kernel& kernel) const {
  const nlohmann::json record = {{"version", record_version},
                                 {"outcome", kernel.outcome},
                                 {"detail", kernel.detail},
                                 {"log", kernel.log},
                                 {"machine_code", kernel.machine_code},
                                 {"kernels_hash", library_bytes.empty() ? "" : folder_hash(work / "kernels")},
                                 {"library_hash", library_bytes.empty() ? "" : content_hash(library_bytes)}};
  // Compilers quote the source in their messages, whatever bytes it has.
  const std::string body = record.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  const fs::path entry = work / "entry";
  if (::mkdir(entry.c_str(), 0755) != 0) return disk_fault("making", entry, errno);
  if (auto written = write_file(entry / "record", content_hash(body) + "\n" + body); !written) return written;
  if (!library_bytes.empty()) {
    if (auto written = write_file(entry / "kernel.so", library_bytes); !written) return written;
  }
  const fs::path place = root_ / "objects" / key;
  std::error_code failed;
  if (!library_bytes.empty() && fs::is_directory(work / "kernels", failed)) {
    fs::rename(work / "kernels", entry / "kernels", failed);
    if (failed) return disk_fault("keeping device code in", entry, failed.value());
  }
  fs::rename(entry, place, failed);
  // Something is there already: the same build by somebody else, which serves as well, or an entry that doesn't hold together, which goes.
  if (failed && !find(key)) {
    std::error_code aside;
    fs::rename(place, work / "replaced", aside);
    fs::rename(entry, place, failed);
    if (failed && !find(key)) return disk_fault("keeping a built kernel in", place, failed.value());
  }
  if (kernel.outcome.empty()) kernel.library = place / "kernel.so";
  return {};
}

}  // namespace kernsmith::cpp
