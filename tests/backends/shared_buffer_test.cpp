#include "backends/harness/shared_buffer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

using namespace kernsmith;
using namespace kernsmith::harness;

namespace {

/// Whether this process could read or write one byte there: asked of the kernel, without a fault.
bool accessible(const std::byte* address) {
  std::byte taken{};
  iovec to{&taken, 1}, from{const_cast<std::byte*>(address), 1};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a buffer's data touches the guard page on the side asked for") {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{4096}, std::size_t{4096 + 64}, std::size_t{3} << 20}) {
    for (const guard_side side : {guard_side::after, guard_side::before}) {
      CAPTURE(bytes);
      auto made = shared_buffer::create("x", bytes, side);
      REQUIRE(made.has_value());
      CHECK(reinterpret_cast<std::uintptr_t>(made->data()) % 64 == 0);
      CHECK(made->bytes() == bytes);
      CHECK(made->file_bytes() % 4096 == 0);
      std::memset(made->data(), 0x5A, bytes);
      CHECK(accessible(made->data()));
      CHECK(accessible(made->data() + bytes - 1));
      if (side == guard_side::after) CHECK_FALSE(accessible(made->data() + (bytes + 63) / 64 * 64));
      if (side == guard_side::before) CHECK_FALSE(accessible(made->data() - 1));
      // The other end is fenced, too, behind the slack.
      CHECK_FALSE(accessible(made->data() - made->data_offset() - 1));
      CHECK_FALSE(accessible(made->data() - made->data_offset() + made->file_bytes()));
    }
  }
}

TEST_CASE("slack that was written is noticed, on both ends, and depends on the seed") {
  auto made = shared_buffer::create("x", 100, guard_side::after);
  REQUIRE(made.has_value());
  made->fill_slack(7);
  std::memset(made->data(), 0xFF, 100);
  CHECK(made->slack_intact(7));
  CHECK_FALSE(made->slack_intact(8));
  for (std::byte* const place : {made->data() - 1, made->data() + 100}) {
    const std::byte before = *place;
    *place ^= std::byte{1};
    CHECK_FALSE(made->slack_intact(7));
    *place = before;
    CHECK(made->slack_intact(7));
  }
}

TEST_CASE("the file can't be resized by whoever gets its descriptor") {
  auto made = shared_buffer::create("x", 8192, guard_side::before);
  REQUIRE(made.has_value());
  CHECK(::ftruncate(made->descriptor(), 0) == -1);
  CHECK(errno == EPERM);
  CHECK(::ftruncate(made->descriptor(), 1 << 20) == -1);
  CHECK(::fcntl(made->descriptor(), F_ADD_SEALS, F_SEAL_WRITE) == -1);
}

TEST_CASE("another mapping of the descriptor sees the data at its offset") {
  auto made = shared_buffer::create("x", 96, guard_side::after);
  REQUIRE(made.has_value());
  std::memset(made->data(), 0x11, 96);
  auto* const other = static_cast<std::byte*>(::mmap(nullptr, made->file_bytes(), PROT_READ, MAP_SHARED, made->descriptor(), 0));
  REQUIRE(other != MAP_FAILED);
  CHECK(std::memcmp(other + made->data_offset(), made->data(), 96) == 0);
  ::munmap(other, made->file_bytes());
}

TEST_CASE("buffers move, and sizes without sense are refused") {
  auto first = shared_buffer::create("x", 64, guard_side::after);
  REQUIRE(first.has_value());
  first->data()[0] = std::byte{42};
  shared_buffer second = std::move(*first);
  CHECK(second.data()[0] == std::byte{42});
  CHECK(first->data() == nullptr);
  auto third = shared_buffer::create("y", 128, guard_side::before);
  REQUIRE(third.has_value());
  second = std::move(*third);
  CHECK(second.bytes() == 128);
  CHECK_FALSE(shared_buffer::create("zero", 0, guard_side::after).has_value());
  const auto huge = shared_buffer::create("huge", max_shared_buffer_bytes + 1, guard_side::after);
  REQUIRE_FALSE(huge.has_value());
  CHECK(huge.error().message.find("huge") != std::string::npos);
}
