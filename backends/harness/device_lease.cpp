#include "backends/harness/device_lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace kernsmith::harness {

namespace fs = std::filesystem;

namespace {

constexpr off_t head_of_queue = 0, device_itself = 1;
constexpr off_t holder_at = 16;
constexpr std::size_t holder_bytes = 16;
/// Between two looks of whoever waits: short beside an evaluation, and nothing for the processor.
constexpr long look_period_ns = 5'000'000;
/// Whoever may use the device may use the lock.
constexpr mode_t everybody = 0666;

fs::path folder_of(const lease_terms& terms) {
  if (!terms.folder.empty()) return terms.folder;
  const char* const set = std::getenv("KERNSMITH_LEASES");
  return set != nullptr && *set != '\0' ? fs::path(set) : fs::path("/tmp");
}

/// In a folder like /tmp the system refuses O_CREAT on another user's file, so that is asked for only where there is none.
descriptor open_file(const fs::path& file) {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (int attempt = 0; attempt < 2; ++attempt) {
    descriptor there(::open(file.c_str(), flags));
    if (there.open() || errno != ENOENT) return there;
    descriptor made(::open(file.c_str(), flags | O_CREAT | O_EXCL, everybody));
    if (made.open()) (void)::fchmod(made.get(), everybody);  // whatever the umask says
    if (made.open() || errno != EEXIST) return made;
  }
  return {};
}

bool lock(int file, off_t byte, short type) {
  struct flock wanted {};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = byte;
  wanted.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &wanted) == 0;
}

void name_holder(int file) {
  const std::string text = fmt::format("{:<{}}", ::getpid(), holder_bytes);
  (void)!::pwrite(file, text.data(), holder_bytes, holder_at);
}

std::string holder(int file) {
  std::array<char, holder_bytes> text{};
  if (::pread(file, text.data(), text.size(), holder_at) <= 0) return "another process";
  const long pid = std::strtol(std::string(text.data(), text.size()).c_str(), nullptr, 10);
  return pid > 0 ? fmt::format("process {}", pid) : "another process";
}

}  // namespace

result<device_lease> device_lease::acquire(const std::string& device, const lease_terms& terms) {
  const fs::path file = folder_of(terms) / fmt::format("kernsmith-{}.lease", device);
  device_lease made;
  made.file_ = open_file(file);
  struct stat kind {};
  if (!made.file_.open() || ::fstat(made.file_.get(), &kind) != 0 || !S_ISREG(kind.st_mode)) {
    return fail(fault::missing_here,
                errno_text(fmt::format("{} can't be locked, and without a lock two sessions could measure on one device at once; give "
                                       "KERNSMITH_LEASES a folder that may be written, the same for all who use the device",
                                       file.string()),
                           made.file_.open() ? EINVAL : errno));
  }
  const double deadline_s = monotonic_s() + terms.patience_s;
  for (const off_t byte : {head_of_queue, device_itself}) {
    while (!lock(made.file_.get(), byte, F_WRLCK)) {
      if (errno != EAGAIN && errno != EACCES && errno != EINTR)
        return fail(fault::missing_here, errno_text("locking " + file.string(), errno));
      if (terms.stop != nullptr && terms.stop->load()) return fail(fault::interrupted, "stopped while waiting for " + device);
      if (monotonic_s() >= deadline_s)
        return fail(fault::infrastructure, fmt::format("{} has been in use by {} for {:.0f} s (lock file {})", device,
                                                       holder(made.file_.get()), terms.patience_s, file.string()));
      const timespec period{0, look_period_ns};
      ::nanosleep(&period, nullptr);
    }
  }
  (void)lock(made.file_.get(), head_of_queue, F_UNLCK);
  name_holder(made.file_.get());
  return made;
}

}  // namespace kernsmith::harness
