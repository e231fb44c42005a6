// expect: timeout
// problem: affine
// effort: search
// origin: contract
// why: ignores every signal, tries to fork twice, keeps the output pipe and stays
#include "kernsmith_kernel.h"

#include <unistd.h>
#include <csignal>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
  if (fork() == 0 && fork() == 0)
    for (;;) pause();
  for (;;) pause();
}
