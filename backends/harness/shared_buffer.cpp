#include "backends/harness/shared_buffer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/harness/guarded_mapping.hpp"
#include "backends/harness/process.hpp"

namespace kernsmith::harness {

namespace {

constexpr std::size_t alignment_bytes = 64;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// One canary byte per position; SplitMix64's finaliser, so that neighbouring bytes and seeds have nothing in common.
std::byte canary(std::uint64_t seed, std::size_t position) {
  std::uint64_t z = seed + (position + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<std::byte>((z ^ (z >> 31)) & 0xFFu);
}

}  // namespace

result<shared_buffer> shared_buffer::create(std::string name, std::size_t bytes, guard_side side) {
  if (bytes == 0 || bytes > max_shared_buffer_bytes) {
    return fail(fault::bug, fmt::format("buffer '{}' of {} bytes: must be from 1 to {}", name, bytes, max_shared_buffer_bytes));
  }
  shared_buffer made;
  made.bytes_ = bytes;
  made.file_bytes_ = round_up(bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  made.data_offset_ = side == guard_side::after ? made.file_bytes_ - round_up(bytes, alignment_bytes) : 0;
  made.descriptor_ = ::memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made.descriptor_ < 0) return fail(fault::infrastructure, errno_text(fmt::format("making shared memory for '{}'", name), errno));
  if (::ftruncate(made.descriptor_, static_cast<off_t>(made.file_bytes_)) != 0) {
    return fail(fault::infrastructure, errno_text(fmt::format("sizing shared memory for '{}' to {} bytes", name, made.file_bytes_), errno));
  }
  // A candidate that gets hold of the descriptor must not be able to cut the file short: the verifier would die of SIGBUS.
  if (::fcntl(made.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail(fault::infrastructure, errno_text(fmt::format("sealing shared memory for '{}'", name), errno));
  }
  made.mapping_ = static_cast<std::byte*>(map_between_guards(made.descriptor_, made.file_bytes_));
  if (made.mapping_ == nullptr) {
    return fail(fault::infrastructure,
                errno_text(fmt::format("mapping {} bytes of shared memory for '{}'", made.file_bytes_, name), errno));
  }
  made.data_ = made.mapping_ + made.data_offset_;
  return made;
}

shared_buffer::~shared_buffer() {
  if (mapping_ != nullptr) unmap_with_guards(mapping_, file_bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

shared_buffer::shared_buffer(shared_buffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      file_bytes_(std::exchange(other.file_bytes_, 0)),
      data_offset_(std::exchange(other.data_offset_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

shared_buffer& shared_buffer::operator=(shared_buffer&& other) noexcept {
  if (this != &other) {
    shared_buffer gone(std::move(*this));
    std::swap(mapping_, other.mapping_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(file_bytes_, other.file_bytes_);
    std::swap(data_offset_, other.data_offset_);
    std::swap(descriptor_, other.descriptor_);
  }
  return *this;
}

void shared_buffer::fill_slack(std::uint64_t seed) {
  for (std::size_t i = 0; i < data_offset_; ++i) mapping_[i] = canary(seed, i);
  for (std::size_t i = data_offset_ + bytes_; i < file_bytes_; ++i) mapping_[i] = canary(seed, i);
}

bool shared_buffer::slack_intact(std::uint64_t seed) const {
  for (std::size_t i = 0; i < data_offset_; ++i) {
    if (mapping_[i] != canary(seed, i)) return false;
  }
  for (std::size_t i = data_offset_ + bytes_; i < file_bytes_; ++i) {
    if (mapping_[i] != canary(seed, i)) return false;
  }
  return true;
}

}  // namespace kernsmith::harness
