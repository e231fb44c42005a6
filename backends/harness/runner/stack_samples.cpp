#include "backends/harness/runner/stack_samples.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace kernsmith::runner {

namespace {

constexpr long sampling_period_us = 1000;  // of CPU time; the kernel's tick may make it longer
constexpr std::size_t max_samples = std::size_t{1} << 17;

struct sample {
  std::uintptr_t address;
  long thread;
};
// Static: the handler may not allocate.
sample samples[max_samples];
std::atomic<std::size_t> taken{0};

std::uintptr_t instruction_pointer(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 0;
#endif
}

void note_sample(int, siginfo_t*, void* context) {
  const std::size_t at = taken.fetch_add(1, std::memory_order_relaxed);
  if (at >= max_samples) return;
  samples[at] = {instruction_pointer(*static_cast<const ucontext_t*>(context)), ::syscall(SYS_gettid)};
}

void set_timer(long period_us) {
  itimerval timer{};
  timer.it_interval.tv_usec = period_us;
  timer.it_value.tv_usec = period_us;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

void start_sampling() {
  struct sigaction action {};
  action.sa_sigaction = note_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  set_timer(sampling_period_us);
}

void stop_sampling() {
  set_timer(0);
  ::signal(SIGPROF, SIG_IGN);  // one may be on its way
}

void write_samples(std::FILE* report) {
  const std::size_t all = taken.load();
  std::map<std::tuple<long, std::string, std::uintptr_t>, std::size_t> counts;
  for (std::size_t i = 0; i < std::min(all, max_samples); ++i) {
    Dl_info found{};
    const bool known = ::dladdr(reinterpret_cast<void*>(samples[i].address), &found) != 0 && found.dli_fname != nullptr;
    const auto base = known ? reinterpret_cast<std::uintptr_t>(found.dli_fbase) : 0;
    ++counts[{samples[i].thread, known ? found.dli_fname : "?", samples[i].address - base}];
  }
  for (const auto& [where, count] : counts) {
    const auto& [thread, object, offset] = where;
    std::fprintf(report, "sample %ld %zu %zx %s\n", thread, count, static_cast<std::size_t>(offset), object.c_str());
  }
  if (all > max_samples) std::fprintf(report, "samples_lost %zu\n", all - max_samples);
}

}  // namespace kernsmith::runner
