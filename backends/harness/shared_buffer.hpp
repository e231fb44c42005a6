// Memory that the verifier owns and a runner maps: a memfd whose data is fenced by inaccessible pages in every process that maps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backends/harness/mappable_buffer.hpp"
#include "config/error.hpp"

namespace kernsmith::harness {

/// No buffer may be larger; a problem that needs more is refused before buffers are made.
inline constexpr std::size_t max_shared_buffer_bytes = std::size_t{1} << 40;

/// Which end of the data touches a guard page in the runner's mapping (the other end has slack filled with a canary; both are tried).
enum class guard_side : std::uint8_t { after, before };

/// Owner: the verifier. Movable, not copyable; closes and unmaps on destruction. The verifier's own mapping is always readable and
/// writable.
class shared_buffer final : public mappable_buffer {
 public:
  shared_buffer() = default;
  /// `bytes` of data, 64-byte aligned in every mapping (guard_side::after: the data ends at the guard page when bytes % 64 == 0, else
  /// within 63 bytes of canary before it).
  [[nodiscard]] static result<shared_buffer> create(std::string name, std::size_t bytes, guard_side side);
  ~shared_buffer() override;
  shared_buffer(shared_buffer&& other) noexcept;
  shared_buffer& operator=(shared_buffer&& other) noexcept;
  shared_buffer(const shared_buffer&) = delete;
  shared_buffer& operator=(const shared_buffer&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] int descriptor() const override { return descriptor_; }
  [[nodiscard]] std::size_t file_bytes() const override { return file_bytes_; }    ///< multiple of the page size
  [[nodiscard]] std::size_t data_offset() const override { return data_offset_; }  ///< of the data in the file
  /// Fills the slack around the data with a pattern derived from `seed`; slack_intact() checks it.
  void fill_slack(std::uint64_t seed);
  [[nodiscard]] bool slack_intact(std::uint64_t seed) const;

 private:
  std::byte* mapping_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0, file_bytes_ = 0, data_offset_ = 0;
  int descriptor_ = -1;
};

}  // namespace kernsmith::harness
