#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "memory/database.hpp"

namespace kernsmith::memory {
namespace {

constexpr std::size_t max_pid_text_bytes = 32;

/// What the holder wrote, or "unknown" in the instant between its lock and its signature.
std::string holder(int descriptor) {
  char text[max_pid_text_bytes] = {};
  const auto got = ::pread(descriptor, text, sizeof text - 1, 0);
  std::string pid;
  for (const char* c = text; got > 0 && *c >= '0' && *c <= '9'; ++c) pid.push_back(*c);
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

result<directory_lock> directory_lock::acquire(const std::filesystem::path& directory) {
  const auto file = directory / "lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const int why = errno;
    if (why == ENOSPC || why == EDQUOT) return tl::unexpected(disk_full(directory, 0));
    return fail(fault::missing_here,
                fmt::format("the data directory {} cannot be written to ({}); make it writable or name another with --data",
                            directory.string(), std::strerror(why)));
  }
  directory_lock lock(descriptor);
  // flock belongs to the open file, not to the process as fcntl's locks do: RocksDB or anyone else closing this file can't drop it.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) {
    return fail(fault::missing_here, fmt::format("cannot lock the data directory {} ({}); name one on a local disk with --data",
                                                 directory.string(), std::strerror(errno)));
  }
  return fail(fault::missing_here,
              fmt::format("data directory {} is in use by another kernsmith (pid {}); wait for it, stop it, or name another with --data",
                          directory.string(), holder(descriptor)));
}

directory_lock::directory_lock(directory_lock&& other) noexcept : descriptor_(other.descriptor_) {
  other.descriptor_ = -1;
}

directory_lock::~directory_lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void directory_lock::sign() const {
  const auto text = fmt::format("{}\n", ::getpid());
  // Only another process's message depends on it, so a failure is no reason to stop.
  if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
    const auto written = ::pwrite(descriptor_, text.data(), text.size(), 0);
}

}  // namespace kernsmith::memory
