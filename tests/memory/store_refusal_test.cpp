// Data directories that can't be used: in use, read-only, full.
#include <cstdio>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child_process.hpp"
#include "memory/database.hpp"
#include "memory/store.hpp"
#include "sample_records.hpp"
#include "temporary_folder.hpp"

using namespace kernsmith;
using namespace kernsmith::memory;
using namespace kernsmith::test;

namespace {

constexpr uid_t nobody = 65534;
constexpr int skipped = 77;

bool mentions(const error& e, std::string_view text) {
  return e.message.find(text) != std::string::npos;
}

write_batch one_event() {
  write_batch batch;
  batch.emit("session.started", nlohmann::json::object());
  return batch;
}

void write_file(const std::filesystem::path& directory, const std::string& name, const std::string& text) {
  std::ofstream(directory / name) << text;
}

/// A role that could not be played here says why and ends with `skipped`.
void play(const std::string& role, const std::filesystem::path& directory) {
  child_process child(role, directory);
  const auto output = child.rest_of_output();
  const int status = child.wait();
  if (status == skipped) {
    MESSAGE("skipped, not permitted here: ", output);
    return;
  }
  CHECK_MESSAGE(status == 0, output);
}

[[noreturn]] void skip_role(const char* why) {
  std::printf("%s\n", why);
  std::fflush(stdout);
  ::_exit(skipped);
}

/// Gives this process a small file system of its own at `place`; ends the role where that is not permitted.
void mount_small_disk(const std::filesystem::path& place, const char* options) {
  const auto uid = ::getuid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) skip_role("no mount namespace can be made");
    write_file("/proc/self", "setgroups", "deny");
    write_file("/proc/self", "uid_map", fmt::format("0 {} 1", uid));
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) skip_role("mounts can't be made private");
  std::filesystem::create_directories(place);
  if (::mount("tmpfs", place.c_str(), "tmpfs", 0, options) != 0) skip_role("a tmpfs can't be mounted");
}

/// Writes a file that leaves about `left` free bytes.
void fill(const std::filesystem::path& disk, std::uint64_t left) {
  std::ofstream out(disk / "filler", std::ios::binary);
  const std::string block(1 << 16, 'f');
  while (free_bytes(disk) > left + block.size()) {
    out << block << std::flush;
    REQUIRE(out.good());
  }
}

}  // namespace

TEST_CASE("role: hold the lock" * doctest::skip()) {
  const auto s = store::open(role_directory());
  REQUIRE(s);
  std::printf("holding\n");
  std::fflush(stdout);
  for (;;) ::pause();
}

TEST_CASE("a directory in use is refused with the holder's pid, and free again when the holder is killed") {
  const temporary_folder folder;
  child_process holder("role: hold the lock", folder / "data");
  REQUIRE(holder.wait_for_line("holding"));
  const auto refused = store::open(folder / "data");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == fault::missing_here);
  CHECK(mentions(refused.error(), fmt::format("in use by another kernsmith (pid {})", holder.pid())));
  CHECK(store::open(folder / "data", true));
  holder.kill();
  CHECK(store::open(folder / "data"));
}

TEST_CASE("one process can't open a directory for writing twice") {
  const temporary_folder folder;
  const auto first = store::open(folder / "data");
  REQUIRE(first);
  const auto second = store::open(folder / "data");
  REQUIRE_FALSE(second);
  CHECK(mentions(second.error(), "in use"));
  CHECK((*first)->commit(one_event()));
}

TEST_CASE("role: use a directory without the right to write" * doctest::skip()) {
  const auto top = role_directory();
  if (::getuid() == 0) {  // permissions don't bind root
    REQUIRE(::setgroups(0, nullptr) == 0);
    REQUIRE(::setgid(nobody) == 0);
    REQUIRE(::setuid(nobody) == 0);
    REQUIRE(::prctl(PR_SET_DUMPABLE, 1) == 0);  // or a leak checker could not look at its own process
  }
  const auto existing = store::open(top / "data");
  REQUIRE_FALSE(existing);
  CHECK(existing.error().kind == fault::missing_here);
  CHECK(mentions(existing.error(), "cannot be written to (Permission denied)"));
  CHECK(mentions(existing.error(), "--data"));
  const auto fresh = store::open(top / "new");
  REQUIRE_FALSE(fresh);
  CHECK(fresh.error().kind == fault::missing_here);
  CHECK(mentions(fresh.error(), "cannot make the data directory"));
  const auto reader = store::open(top / "data", true);
  REQUIRE_MESSAGE(reader, (reader ? "" : reader.error().message));
  CHECK((*reader)->last_seq() == 1);
}

TEST_CASE("a directory without write permission is refused for writing and can be read") {
  const temporary_folder folder;
  REQUIRE((*store::open(folder / "data"))->commit(one_event()));
  using std::filesystem::perms;
  const auto readable =
      perms::owner_read | perms::owner_exec | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "data")) std::filesystem::permissions(entry, readable);
  std::filesystem::permissions(folder / "data", readable);
  std::filesystem::permissions(folder.path(), readable);
  play("role: use a directory without the right to write", folder.path());
  std::filesystem::permissions(folder.path(), perms::owner_all);
  std::filesystem::permissions(folder / "data", perms::owner_all);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "data"))
    std::filesystem::permissions(entry, perms::owner_all);
}

TEST_CASE("role: use a read-only disk" * doctest::skip()) {
  const auto disk = role_directory() / "disk";
  mount_small_disk(disk, "size=64m");
  REQUIRE((*store::open(disk / "data"))->commit(one_event()));
  REQUIRE(::mount("none", disk.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  const auto refused = store::open(disk / "data");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == fault::missing_here);
  CHECK(mentions(refused.error(), "Read-only file system"));
  CHECK(store::open(disk / "new").error().kind == fault::missing_here);
  const auto reader = store::open(disk / "data", true);
  REQUIRE(reader);
  CHECK((*reader)->last_seq() == 1);
}

TEST_CASE("a read-only disk is refused for writing and can be read") {
  const temporary_folder folder;
  play("role: use a read-only disk", folder.path());
}

TEST_CASE("role: use a full disk" * doctest::skip()) {
  const auto disk = role_directory() / "disk";
  mount_small_disk(disk, "size=64m");
  auto s = *store::open(disk / "data");
  REQUIRE(s->commit(one_event()));
  fill(disk, min_free_bytes - (1 << 20));
  const auto refused = s->commit(one_event());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == fault::infrastructure);
  CHECK(mentions(refused.error(), "is full"));
  CHECK(s->last_seq() == 1);
  CHECK(s->events(0, 10).size() == 1);  // reads go on
  const auto other = store::open(disk / "other");
  REQUIRE_FALSE(other);
  CHECK(other.error().kind == fault::missing_here);
  CHECK(mentions(other.error(), "is full"));
  CHECK_FALSE(std::filesystem::exists(disk / "other"));
  std::filesystem::remove(disk / "filler");
  const auto again = s->commit(one_event());  // without a new start
  REQUIRE(again);
  CHECK(again->front().seq == 2);
  // The disk that fills between the look and the write.
  fill(disk, min_free_bytes + (2 << 20));
  s.reset();
  auto reopened = store::open(disk / "data");
  REQUIRE(reopened);
  CHECK((*reopened)->last_seq() == 2);
}

TEST_CASE("a full disk stops new work with a clear message and corrupts nothing") {
  const temporary_folder folder;
  play("role: use a full disk", folder.path());
}

TEST_CASE("role: fail in the middle of a write" * doctest::skip()) {
  const auto directory = role_directory() / "data";
  ::signal(SIGXFSZ, SIG_IGN);  // the limit on file sizes becomes a failed write, as a failing disk's would be
  {
    auto s = *store::open(directory);
    REQUIRE(s->commit(one_event()));
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const auto unlimited = limit.rlim_cur;
    limit.rlim_cur = 64 << 10;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    write_batch big;
    std::string noise;
    for (unsigned i = 0, x = 1; i < (1 << 20); ++i, x = x * 1664525 + 1013904223) noise.push_back(static_cast<char>(x >> 24));
    big.put(sample_session("sess-1"));
    const auto blob = big.put_blob(noise);
    big.emit("session.started", nlohmann::json::object());
    const auto failed = s->commit(std::move(big));
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind == fault::infrastructure);
    CHECK(mentions(failed.error(), directory.string()));
    CHECK(s->last_seq() == 1);
    CHECK_FALSE(s->get_blob(blob));
    CHECK(s->sessions().empty());
    limit.rlim_cur = unlimited;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK_FALSE(s->commit(one_event()));  // a store whose log failed takes nothing more until it is opened anew
  }
  auto s = *store::open(directory);
  CHECK(s->sessions().empty());
  CHECK(s->last_seq() == 1);
  CHECK((*s->commit(one_event())).front().seq == 2);
}

TEST_CASE("a write that fails half-way leaves nothing of its batch, now or after a new start") {
  const temporary_folder folder;
  play("role: fail in the middle of a write", folder.path());
}

TEST_CASE("a file where the directory should be is named") {
  const temporary_folder folder;
  write_file(folder.path(), "data", "not a directory");
  const auto opened = store::open(folder / "data");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == fault::missing_here);
  CHECK(std::filesystem::file_size(folder / "data") == std::string("not a directory").size());
}
