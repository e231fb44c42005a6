#include "backends/harness/seccomp_filter.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

namespace kernsmith::harness {

namespace {

// Answered with EPERM, as by a kernel that lacks the right: programs that probe for a feature go on without it.
constexpr std::array denied_calls = {
    // Looking into and steering other processes.
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "kcmp",
    "pidfd_getfd",
    "pidfd_open",
    // Keys of the user's session survive namespaces.
    "add_key",
    "keyctl",
    "request_key",
    // The mount table and new namespaces, where most kernel holes of the last years were reached from.
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "open_by_handle_at",
    "name_to_handle_at",
    "quotactl",
    "quotactl_fd",
    "swapon",
    "swapoff",
    // Programs and modules for the kernel.
    "bpf",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    // Wide or rarely used attack surface that no kernel and no compiler needs.
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "fanotify_init",
    "fanotify_mark",
    "lookup_dcookie",
    "uselib",
    "modify_ldt",
    "vhangup",
    "acct",
    "nfsservctl",
    "personality",
    // The machine's state.
    "reboot",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "stime",
    "sethostname",
    "setdomainname",
    "syslog",
    "iopl",
    "ioperm",
    "ioprio_set",
    // Memory that no poll of resident sizes sees: System V and POSIX queues and segments.
    "memfd_secret",
    "shmget",
    "shmat",
    "shmctl",
    "msgget",
    "msgsnd",
    "semget",
    "mq_open",
    // Moving pages of memory that the verifier shares.
    "move_pages",
    "migrate_pages",
    "set_mempolicy_home_node",
};

/// Denied as well, but to what uses a device: drivers place their memory and make files of it.
constexpr std::array calls_of_drivers = {
    "memfd_create",  // files without a mapping, whose memory no poll of resident sizes sees
    "mbind",
    "set_mempolicy",
};

constexpr std::uint64_t new_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                         CLONE_NEWNET | 0x00000080u /* CLONE_NEWTIME */;

struct release_filter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using filter_handle = std::unique_ptr<void, release_filter>;

int add_rules(scmp_filter_ctx filter, bool may_fork, bool uses_device) {
  std::vector<const char*> denied(denied_calls.begin(), denied_calls.end());
  if (!uses_device) denied.insert(denied.end(), calls_of_drivers.begin(), calls_of_drivers.end());
  for (const char* name : denied) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) continue;  // unknown to this libseccomp: newer than the library, which then has no number for it
    if (number < 0) continue;                 // not a call of this architecture
    if (const int status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0); status != 0) return status;
  }
  // clone3 keeps its flags in memory, where a filter can't read them; ENOSYS makes the C library fall back to clone.
  if (const int status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0); status != 0) return status;
  for (std::uint64_t bit = 1; bit != 0 && bit <= new_namespaces; bit <<= 1) {
    if ((new_namespaces & bit) == 0) continue;
    if (const int status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
        status != 0)
      return status;
  }
  // Pushing characters into the terminal that started us.
  if (const int status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                          SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFFu, 0x5412u /* TIOCSTI */));
      status != 0) {
    return status;
  }
  if (may_fork) return 0;
  // A kernel starts threads, not processes: nothing of it can outlive its runner or be missed by a look at one process.
  for (const int number : {SCMP_SYS(fork), SCMP_SYS(vfork)}) {
    if (number < 0) continue;
    if (const int status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0); status != 0) return status;
  }
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

}  // namespace

result<descriptor> seccomp_program(bool may_fork, bool uses_device) {
  const filter_handle filter(seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return fail(fault::missing_here, "libseccomp can't make a filter for this architecture; the sandbox needs one");
  // Other instruction sets' call numbers (32-bit x86, x32) would slip past the names above: the default for them is to kill.
  if (const int status = add_rules(filter.get(), may_fork, uses_device); status != 0)
    return fail(fault::missing_here, errno_text("making the seccomp filter", -status));
  descriptor file(::memfd_create("kernsmith-seccomp", MFD_CLOEXEC));
  if (!file.open()) return fail(fault::infrastructure, errno_text("making a file for the seccomp filter", errno));
  if (const int status = seccomp_export_bpf(filter.get(), file.get()); status != 0) {
    return fail(fault::missing_here, errno_text("writing the seccomp filter", -status));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail(fault::infrastructure, errno_text("rewinding the seccomp filter", errno));
  return file;
}

}  // namespace kernsmith::harness
