// The system calls that sandboxed code may not make, as a compiled BPF program for bubblewrap.
#pragma once

#include "backends/harness/process.hpp"

namespace kernsmith::harness {

/// A fresh anonymous file that holds the filter, positioned at its start. `may_fork`: compilers start other programs; a kernel may only
/// start threads. `uses_device`: a driver may make memory files and place its memory. missing_here when this kernel or libseccomp can't.
[[nodiscard]] result<descriptor> seccomp_program(bool may_fork, bool uses_device = false);

}  // namespace kernsmith::harness
