#include "memory/index_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "config/hash.hpp"
#include "memory/keys.hpp"

namespace kernsmith::memory {
namespace {

namespace fs = std::filesystem;

/// Then: hash of the rest (32 hex digits), length of the head, head (JSON), FAISS's bytes.
constexpr std::string_view magic = "kernsmith.index/1\n";
constexpr std::size_t hash_digits = 32;
constexpr std::size_t fixed_bytes = magic.size() + hash_digits;

error failed(const char* doing, const fs::path& file) {
  return {fault::infrastructure, fmt::format("cannot {} {}: {}", doing, file.string(), std::strerror(errno))};
}

/// A descriptor that closes itself.
struct descriptor {
  int value;
  ~descriptor() {
    if (value >= 0) ::close(value);
  }
};

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool sync_directory(const fs::path& directory) {
  const descriptor d{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return d.value >= 0 && ::fsync(d.value) == 0;
}

std::string encoded(const index_snapshot& s) {
  const nlohmann::json head{{"feature_version", s.stamp.feature_version},
                            {"dimensions", s.stamp.dimensions},
                            {"vector_version", s.stamp.vector_version},
                            {"stream", s.stamp.stream},
                            {"ids", s.ids}};
  const auto text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto rest = big_endian(text.size()) + text + s.index;
  return std::string(magic) + content_hash(rest) + rest;
}

}  // namespace

result<void> write_index_file(const fs::path& file, const index_snapshot& snapshot) {
  std::error_code failure;
  fs::create_directories(file.parent_path(), failure);
  const auto temporary = fs::path(fmt::format("{}.{}.tmp", file.string(), ::getpid()));
  const auto give_up = [&](const char* doing) {
    auto e = failed(doing, file);
    fs::remove(temporary, failure);
    return tl::unexpected(std::move(e));
  };
  {
    const descriptor d{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (d.value < 0) return give_up("make");
    if (!write_all(d.value, encoded(snapshot)) || ::fsync(d.value) != 0) return give_up("write");
  }
  if (::rename(temporary.c_str(), file.c_str()) != 0) return give_up("rename");
  if (!sync_directory(file.parent_path())) return give_up("sync");
  return {};
}

result<index_snapshot> read_index_file(const fs::path& file) {
  std::error_code failure;
  const auto size = fs::file_size(file, failure);
  if (failure) return fail(fault::missing_here, fmt::format("there is no index {}", file.string()));
  const auto damaged = [&] { return fail(fault::corrupt, fmt::format("the index {} is damaged", file.string())); };
  if (size > max_index_file_bytes) return damaged();
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string_view all = bytes;
  if (all.size() < fixed_bytes + number_bytes || !all.starts_with(magic)) return damaged();
  auto rest = all.substr(fixed_bytes);
  if (content_hash(rest) != all.substr(magic.size(), hash_digits)) return damaged();
  const auto head_bytes = from_big_endian(rest);
  rest.remove_prefix(number_bytes);
  if (head_bytes > rest.size()) return damaged();
  try {
    const auto head = nlohmann::json::parse(rest.substr(0, head_bytes));
    index_snapshot out;
    out.stamp = {head.at("feature_version"), head.at("dimensions"), head.at("vector_version"), head.at("stream")};
    out.ids = head.at("ids").get<std::vector<std::string>>();
    out.index = rest.substr(head_bytes);
    return out;
  } catch (const nlohmann::json::exception&) {
    return damaged();
  }
}

}  // namespace kernsmith::memory
