#include "memory/database.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <rocksdb/transaction_log.h>

#include "memory/keys.hpp"
#include "memory/store.hpp"

namespace kernsmith::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_cache_bytes = std::size_t{8} << 20;
constexpr std::size_t family_buffer_bytes = std::size_t{2} << 20;
constexpr std::size_t all_buffers_bytes = std::size_t{16} << 20;
/// Bounds the time a start takes to read the log again after a kill.
constexpr std::uint64_t max_log_bytes = std::uint64_t{16} << 20;
constexpr int background_jobs = 2;
/// Each start begins a new log and keeps the old ones until their content has gone into tables; more than these and they are flushed.
constexpr std::size_t max_kept_logs = 8;
/// A reader beside a writer can lose the race against a file that the writer drops; it looks again.
constexpr int reader_attempts = 20;

/// Swallows RocksDB's chatter, so that a reader leaves no file behind.
class silent_log : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::DBOptions database_options(bool read_only) {
  rocksdb::DBOptions options;
  options.create_if_missing = !read_only;
  options.create_missing_column_families = !read_only;
  // A torn last record is what a kill leaves; any other damage must be told, not skipped.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.avoid_flush_during_recovery = true;
  options.max_total_wal_size = max_log_bytes;
  options.db_write_buffer_size = all_buffers_bytes;
  options.max_background_jobs = background_jobs;
  options.max_open_files = -1;  // a reader keeps every file open, so that the writer may drop them
  options.info_log = std::make_shared<silent_log>();
  options.allow_mmap_reads = false;
  options.dump_malloc_stats = false;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(bool compressed, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = family_buffer_bytes;
  options.compression = compressed ? rocksdb::kZSTD : rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors() {
  const auto cache = rocksdb::NewLRUCache(block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> out;
  for (const auto& f : families) out.emplace_back(std::string(f.name), family_options(f.compressed, cache));
  return out;
}

error newer_schema(std::uint64_t found, const fs::path& directory) {
  return {
      fault::missing_here,
      fmt::format("data directory {} has schema {}, this kernsmith knows up to {}; nothing was changed. Use the newer kernsmith, or name "
                  "another directory with --data",
                  directory.string(), found, schema_version)};
}

bool has_database(const fs::path& rocks_directory) {
  std::error_code ignored;
  return fs::exists(rocks_directory / "CURRENT", ignored);
}

struct opened {
  rocksdb::DB* rocks = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
};

void close(opened& o) {
  if (o.rocks == nullptr) return;
  for (auto* h : o.handles) {
    if (h != nullptr) o.rocks->DestroyColumnFamilyHandle(h).PermitUncheckedError();
  }
  o.rocks->Close().PermitUncheckedError();
  delete o.rocks;
  o = {};
}

/// Looks at the schema of an existing database through a read-only opening, which changes no file; opening for writing would.
result<void> check_schema(const fs::path& directory, const fs::path& rocks_directory) {
  std::vector<std::string> names;
  const auto options = database_options(true);
  auto status = rocksdb::DB::ListColumnFamilies(options, rocks_directory.string(), &names);
  if (!status.ok()) return tl::unexpected(translate(status, "read", directory));
  if (std::find(names.begin(), names.end(), "meta") == names.end()) return {};  // killed while it was being created
  opened o;
  const std::vector<rocksdb::ColumnFamilyDescriptor> wanted{{"default", {}}, {"meta", {}}};
  status = rocksdb::DB::OpenForReadOnly(options, rocks_directory.string(), wanted, &o.handles, &o.rocks);
  if (!status.ok()) return tl::unexpected(translate(status, "read", directory));
  std::string value;
  status = o.rocks->Get(rocksdb::ReadOptions(), o.handles[1], "schema", &value);
  close(o);
  if (status.IsNotFound()) return {};
  if (!status.ok()) return tl::unexpected(translate(status, "read", directory));
  const auto found = from_big_endian(value);
  if (value.size() != number_bytes || found > schema_version) return tl::unexpected(newer_schema(found, directory));
  return {};
}

/// Makes the directory (private to its user) and says whether it was missing.
result<bool> make_directory(const fs::path& directory) {
  std::error_code failure;
  const bool made = fs::create_directories(directory, failure);
  if (!failure && made) fs::permissions(directory, fs::perms::owner_all, failure);
  if (failure == std::errc::no_space_on_device) return tl::unexpected(disk_full(directory, 0));
  if (failure || !fs::is_directory(directory, failure)) {
    return fail(fault::missing_here, fmt::format("cannot make the data directory {} ({}); name a writable one with --data",
                                                 directory.string(), failure ? failure.message() : "something else has that name"));
  }
  return made;
}

/// Writes what the logs hold into tables when many starts have left many logs. A failure shows at the next write.
void bound_logs(const opened& o) {
  rocksdb::VectorLogPtr logs;
  if (!o.rocks->GetSortedWalFiles(logs).ok() || logs.size() <= max_kept_logs) return;
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  o.rocks->Flush(options, o.handles).PermitUncheckedError();
}

result<opened> open_for_writing(const fs::path& directory, const fs::path& rocks_directory) {
  const bool existed = has_database(rocks_directory);
  if (existed) {
    if (auto checked = check_schema(directory, rocks_directory); !checked) return tl::unexpected(checked.error());
  }
  opened o;
  const auto status = rocksdb::DB::Open(database_options(false), rocks_directory.string(), descriptors(), &o.handles, &o.rocks);
  if (status.ok()) {
    bound_logs(o);
    return o;
  }
  if (!existed) {
    std::error_code ignored;  // nothing half-made stays behind
    fs::remove_all(rocks_directory, ignored);
  }
  return tl::unexpected(translate(status, "open", directory));
}

result<opened> open_for_reading(const fs::path& directory, const fs::path& rocks_directory) {
  if (!has_database(rocks_directory)) {
    return fail(fault::missing_here,
                fmt::format("there is no data in {} yet; run 'kernsmith optimize' first, or name another directory with --data",
                            directory.string()));
  }
  if (auto checked = check_schema(directory, rocks_directory); !checked) return tl::unexpected(checked.error());
  rocksdb::Status status;
  for (int attempt = 0; attempt < reader_attempts; ++attempt) {
    opened o;
    status = rocksdb::DB::OpenForReadOnly(database_options(true), rocks_directory.string(), descriptors(), &o.handles, &o.rocks);
    if (status.ok()) return o;
    std::this_thread::yield();
  }
  return tl::unexpected(translate(status, "read", directory));
}

}  // namespace

std::uint64_t free_bytes(const fs::path& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0 || info.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

error disk_full(const fs::path& directory, std::uint64_t free) {
  return {fault::missing_here,
          fmt::format(
              "the disk of the data directory {} is full ({:.1f} MiB free, {} MiB needed); nothing was written. Free some space, or name "
              "a directory on another disk with --data",
              directory.string(), static_cast<double>(free) / (1 << 20), min_free_bytes >> 20)};
}

error translate(const rocksdb::Status& status, std::string_view doing, const fs::path& directory) {
  if (status.IsNoSpace()) {
    auto e = disk_full(directory, free_bytes(directory));
    e.kind = fault::infrastructure;
    return e;
  }
  if (status.IsCorruption()) {
    return {fault::corrupt,
            fmt::format("cannot {} {}: its data is damaged ({}); restore the directory from a copy, or name another with --data", doing,
                        directory.string(), status.ToString())};
  }
  return {fault::infrastructure,
          fmt::format("cannot {} {}: {}; check the disk and the permissions of the directory, or name another with --data", doing,
                      directory.string(), status.ToString())};
}

result<std::unique_ptr<database>> database::open(const fs::path& directory, bool read_only) {
  std::unique_ptr<database> out(new database);
  out->directory_ = directory;
  out->read_only_ = read_only;
  const auto rocks_directory = directory / "store";
  result<opened> o;
  if (read_only) {
    o = open_for_reading(directory, rocks_directory);
  } else {
    const auto made = make_directory(directory);
    if (!made) return tl::unexpected(made.error());
    const auto give_up = [&](error e) -> result<std::unique_ptr<database>> {
      std::error_code ignored;
      out.reset();
      if (*made) fs::remove_all(directory, ignored);
      return tl::unexpected(std::move(e));
    };
    if (const auto free = free_bytes(directory); free < min_free_bytes) return give_up(disk_full(directory, free));
    auto lock = directory_lock::acquire(directory);
    if (!lock) return give_up(lock.error());
    out->lock_ = std::make_unique<directory_lock>(*std::move(lock));
    o = open_for_writing(directory, rocks_directory);
    if (!o) return give_up(o.error());
    out->lock_->sign();
  }
  if (!o) return tl::unexpected(o.error());
  out->rocks_ = o->rocks;
  std::copy(o->handles.begin(), o->handles.end(), out->handles_.begin());
  return out;
}

database::~database() {
  opened o{rocks_, {handles_.begin(), handles_.end()}};
  close(o);
}

}  // namespace kernsmith::memory
