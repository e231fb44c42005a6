/* The smallest harness that a target can have: runs the calls of calls.txt on this machine and reports nanoseconds by its own clock. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernsmith_kernel.h"

enum { max_tensors = 32, max_rank = 8, max_axes = 32 };

int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx);

static FILE* calls;

/* The next number; words are for people. */
static int64_t number(void) {
  for (;;) {
    long long value;
    if (fscanf(calls, "%lld", &value) == 1) return value;
    if (fscanf(calls, "%*[^0-9 \n]%*[^ \n]") == EOF && feof(calls)) exit(2);
    (void)fscanf(calls, "%*[ \n]");
  }
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void run_call(unsigned char* memory, ks_launch* ctx, FILE* report) {
  static int64_t axes[max_axes], shapes[max_tensors][max_rank], strides[max_tensors][max_rank];
  static ks_tensor tensors[max_tensors];
  const int64_t which = number();
  ctx->n_axes = (int32_t)number();
  for (int a = 0; a < ctx->n_axes; ++a) axes[a] = number();
  ctx->axes = axes;
  for (int i = 0; i < 4; ++i) (void)number(); /* the areas: nothing here protects them */
  const int n_in = (int)number(), n_out = (int)number();
  for (int t = 0; t < n_in + n_out; ++t) {
    (void)number();
    tensors[t].data = memory + number();
    (void)number();
    tensors[t].dtype = (int32_t)number();
    tensors[t].rank = (int32_t)number();
    for (int d = 0; d < tensors[t].rank; ++d) shapes[t][d] = number();
    int64_t stride = 1;
    for (int d = tensors[t].rank; d-- > 0; stride *= shapes[t][d]) strides[t][d] = stride;
    tensors[t].shape = shapes[t];
    tensors[t].strides = strides[t];
  }
  const int64_t began = now_ns();
  const int status = launch(tensors, n_in, tensors + n_in, n_out, ctx);
  const int64_t ended = now_ns();
  if (status != 0) {
    fprintf(report, "call %lld refused launch returned %d\n", (long long)which, status);
    return;
  }
  fprintf(report, "call %lld ok\ncounter %lld nanoseconds %lld\n", (long long)which, (long long)which, (long long)(ended - began));
}

int main(void) {
  calls = fopen("calls.txt", "r");
  if (calls == NULL) return 3;
  (void)number();
  const int64_t bytes = number(), workspace_at = number(), workspace_bytes = number(), count = number();
  unsigned char* memory = aligned_alloc(4096, (size_t)((workspace_at + workspace_bytes + 4095) / 4096 * 4096));
  FILE* file = fopen("memory.bin", "r+b");
  if (memory == NULL || file == NULL || fread(memory, 1, (size_t)bytes, file) != (size_t)bytes) return 4;
  FILE* report = fopen("report.txt", "w");
  ks_launch ctx = {.workspace = memory + workspace_at, .workspace_bytes = (size_t)workspace_bytes, .threads = 1};
  for (int64_t c = 0; c < count; ++c) run_call(memory, &ctx, report);
  rewind(file);
  if (fwrite(memory, 1, (size_t)bytes, file) != (size_t)bytes) return 5;
  return fclose(file) != 0 || fclose(report) != 0;
}
