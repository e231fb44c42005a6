// Telling the verifier where a memory fault happened before dying of it.
#pragma once

namespace kernsmith::runner {

/// Handles SIGSEGV, SIGBUS and SIGILL on a stack of its own: sends the address, then lets the fault end the process. What is sent only
/// chooses between the words "crashed" and "out of bounds"; a candidate that replaces the handler gets the first.
void report_faults();

}  // namespace kernsmith::runner
