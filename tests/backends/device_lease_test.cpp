#include "backends/harness/device_lease.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
using harness::device_lease;
using harness::lease_terms;

namespace {

lease_terms terms_in(const fixtures::temporary_folder& folder, double patience_s = 20) {
  lease_terms terms;
  terms.folder = folder.path();
  terms.patience_s = patience_s;
  return terms;
}

constexpr double no_patience_s = 0.05;

}  // namespace

TEST_CASE("one holds a device, in one process too; another device is another matter") {
  const fixtures::temporary_folder folder;
  std::optional<device_lease> held = fixtures::value_of(device_lease::acquire("GPU-1", terms_in(folder)));
  const auto second = device_lease::acquire("GPU-1", terms_in(folder, no_patience_s));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().kind == fault::infrastructure);
  CHECK(second.error().message.find("in use by process " + std::to_string(::getpid())) != std::string::npos);
  CHECK(device_lease::acquire("GPU-2", terms_in(folder)).has_value());
  held.reset();
  CHECK(device_lease::acquire("GPU-1", terms_in(folder, no_patience_s)).has_value());
}

TEST_CASE("another process waits for its turn, and a killed one leaves nothing behind") {
  const fixtures::temporary_folder folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t other = ::fork();
  REQUIRE(other >= 0);
  if (other == 0) {
    const auto held = device_lease::acquire("GPU-1", terms_in(folder));
    const char word = held ? '1' : '0';
    (void)!::write(ends[1], &word, 1);
    for (;;) ::pause();
  }
  char word = 0;
  REQUIRE(::read(ends[0], &word, 1) == 1);
  REQUIRE(word == '1');
  const auto refused = device_lease::acquire("GPU-1", terms_in(folder, no_patience_s));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("process " + std::to_string(other)) != std::string::npos);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(device_lease::acquire("GPU-1", terms_in(folder)).has_value());
}

TEST_CASE("who gives a device back and asks again does not overtake who waited") {
  const fixtures::temporary_folder folder;
  std::optional<device_lease> mine = fixtures::value_of(device_lease::acquire("GPU-1", terms_in(folder)));
  std::atomic<bool> has_it{false}, may_end{false};
  std::thread waiting([&] {
    const auto theirs = device_lease::acquire("GPU-1", terms_in(folder));
    has_it = theirs.has_value();
    while (!may_end) std::this_thread::yield();
  });
  // A third, without patience, is turned away at the queue as soon as the second has its place there; the device alone would not tell.
  const auto file = folder.path() / "kernsmith-GPU-1.lease";
  const auto head_is_taken = [&] {
    const harness::descriptor look(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    struct flock asked {};
    asked.l_type = F_WRLCK;
    asked.l_whence = SEEK_SET;
    asked.l_len = 1;
    return ::fcntl(look.get(), F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
  };
  while (!head_is_taken()) std::this_thread::yield();
  mine.reset();
  const auto again = device_lease::acquire("GPU-1", terms_in(folder, 0.3));
  CHECK_FALSE(again.has_value());
  CHECK(has_it);
  may_end = true;
  waiting.join();
  CHECK(device_lease::acquire("GPU-1", terms_in(folder)).has_value());
}

TEST_CASE("waiting ends when it is told to") {
  const fixtures::temporary_folder folder;
  const auto held = device_lease::acquire("GPU-1", terms_in(folder));
  REQUIRE(held.has_value());
  const std::atomic<bool> stop{true};
  lease_terms terms = terms_in(folder);
  terms.stop = &stop;
  const auto waited = device_lease::acquire("GPU-1", terms);
  REQUIRE_FALSE(waited.has_value());
  CHECK(waited.error().kind == fault::interrupted);
}

TEST_CASE("the lock is for everybody, and without one nothing is measured") {
  const fixtures::temporary_folder folder;
  REQUIRE(device_lease::acquire("GPU-1", terms_in(folder)).has_value());
  struct stat made {};
  REQUIRE(::stat((folder.path() / "kernsmith-GPU-1.lease").c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0666);
  lease_terms nowhere;
  nowhere.folder = folder.path() / "absent";
  const auto refused = device_lease::acquire("GPU-1", nowhere);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == fault::missing_here);
  CHECK(refused.error().message.find("KERNSMITH_LEASES") != std::string::npos);
  // A link that someone else laid there is not followed.
  std::ofstream(folder.path() / "elsewhere") << "content";
  std::filesystem::create_symlink(folder.path() / "elsewhere", folder.path() / "kernsmith-GPU-3.lease");
  CHECK_FALSE(device_lease::acquire("GPU-3", terms_in(folder)).has_value());
}
