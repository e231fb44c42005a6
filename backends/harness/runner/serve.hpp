// What runners have in common, whatever hosts the kernel: the process itself or an interpreter.
#pragma once

#include "backends/harness/kernsmith_kernel.h"

namespace kernsmith::runner {

using launch_function = int (*)(const ks_tensor*, int, ks_tensor*, int, ks_launch*);

/// How a kernel gets into this process.
struct kernel_host {
  /// Gives up (channel.hpp) on what can't be loaded.
  launch_function (*load)(const char* library, const ks_launch& context);
  /// After each answer to a call; null: nothing.
  void (*follow)();
};

struct runner_arguments {
  const char *library, *threads, *workspace_bytes;
  const char *driver, *ordinal;  ///< null on the host
};
/// LIBRARY THREADS WORKSPACE_BYTES [DRIVER ORDINAL], behind a first argument that is not looked at. False when they are not these.
[[nodiscard]] bool read_arguments(int argc, char** argv, runner_arguments& given);

/// Never returns: the process ends when the verifier hangs up, or with a word about what went wrong.
[[noreturn]] void serve(const runner_arguments& given, const kernel_host& host);

}  // namespace kernsmith::runner
