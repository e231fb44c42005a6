// The RocksDB database of a data directory: lock, schema, options, and RocksDB's words turned into errors a person can act on.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/db.h>

#include "config/error.hpp"
#include "memory/families.hpp"

namespace kernsmith::memory {

/// Less free space than this on the data directory's disk: no new work is taken. Leaves room for RocksDB's own compaction and logs.
inline constexpr std::uint64_t min_free_bytes = std::uint64_t{16} << 20;

/// Held while a process writes to a data directory. The file stays; the lock goes with the process, however it ends.
class directory_lock {
 public:
  /// Errors (missing_here): held by another process (named), or the directory is not writable.
  [[nodiscard]] static result<directory_lock> acquire(const std::filesystem::path& directory);
  directory_lock(directory_lock&& other) noexcept;
  directory_lock& operator=(directory_lock&&) = delete;
  ~directory_lock();
  /// Writes our pid into the file, for the message that another process gives.
  void sign() const;

 private:
  explicit directory_lock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

class database {
 public:
  [[nodiscard]] static result<std::unique_ptr<database>> open(const std::filesystem::path& directory, bool read_only);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  [[nodiscard]] rocksdb::DB& rocks() const { return *rocks_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(family f) const { return handles_[static_cast<std::size_t>(f)]; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] bool read_only() const { return read_only_; }

 private:
  database() = default;
  std::filesystem::path directory_;
  bool read_only_ = false;
  std::unique_ptr<directory_lock> lock_;
  rocksdb::DB* rocks_ = nullptr;
  std::array<rocksdb::ColumnFamilyHandle*, family_count> handles_{};
};

/// `doing` completes "cannot ... DIR". Full disks and damage are named as such.
[[nodiscard]] error translate(const rocksdb::Status& status, std::string_view doing, const std::filesystem::path& directory);

/// Free bytes for an unprivileged writer; the largest number when the system can't say.
[[nodiscard]] std::uint64_t free_bytes(const std::filesystem::path& directory);
[[nodiscard]] error disk_full(const std::filesystem::path& directory, std::uint64_t free);

}  // namespace kernsmith::memory
