// Telling the verifier where a memory fault happened before dying of it.
#pragma once

namespace kernsmith::runner {

/// Handles SIGSEGV, SIGBUS and SIGILL on a stack of its own: sends the address, then lets the fault end the process. What is sent only
/// chooses between the words "crashed" and "out of bounds"; a candidate that replaces the handler gets the first.
void report_faults();
/// The same handlers once more, for when a library has put its own in their place: LLVM's, which OpenCL's compiler brings into the process,
/// leave no handler at all for as long as one thread is in them, and a second thread's fault is then not told.
void take_faults_back();

}  // namespace kernsmith::runner
