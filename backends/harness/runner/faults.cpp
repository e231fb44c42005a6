#include "backends/harness/runner/faults.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

#include "backends/harness/wire.hpp"

namespace kernsmith::runner {

namespace {

constexpr std::size_t handler_stack_bytes = std::size_t{64} << 10;

// Only async-signal-safe calls from here on.
void on_fault(int signal, siginfo_t* info, void*) {
  harness::wire::answer_header header{};
  header.kind = harness::wire::answer_kind::fault;
  header.code = signal;
  header.value = reinterpret_cast<std::uint64_t>(info->si_addr);
  // Which instruction: a trap that the compiler wrote is a crash, one that this processor does not know is something it lacks.
  if (signal == SIGILL && info->si_code > 0) __builtin_memcpy(&header.reserved, info->si_addr, 2);
  (void)::send(harness::wire::control_descriptor, &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
  // Back to the default: the instruction is tried again on return and ends the process by its real signal.
  struct sigaction original {};
  original.sa_handler = SIG_DFL;
  ::sigaction(signal, &original, nullptr);
  if (info->si_code <= 0) ::raise(signal);  // sent by somebody: there is no instruction to fail again
}

}  // namespace

void report_faults() {
  void* const memory = ::mmap(nullptr, handler_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory != MAP_FAILED) {
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = handler_stack_bytes;
    ::sigaltstack(&stack, nullptr);
  }
  take_faults_back();
}

void take_faults_back() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
  ::sigaction(SIGILL, &action, nullptr);
}

}  // namespace kernsmith::runner
