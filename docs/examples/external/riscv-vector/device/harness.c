/* Runs a kernel on the bare machine: reads the calls and their memory from files of the emulator's host, calls `launch` in user mode once
 * for each, and writes back the memory and what happened (docs/external-targets.md has the formats).
 *
 * The kernel is linked into the same image, so nothing here may lean on a symbol that a kernel could define: no library functions, and no
 * code that the compiler would turn into calls of them. tests/external checks the object file for it. */
#include <stddef.h>
#include <stdint.h>

#include "kernsmith_kernel.h"

enum { max_tensors = 32, max_rank = 8, max_axes = 32, max_calls = 64 };
enum { sys_open = 0x01, sys_close = 0x02, sys_write = 0x05, sys_read = 0x06, sys_exit = 0x18 };
enum { mode_read = 1, mode_write = 5 }; /* "rb", "wb" */
enum { cause_user_call = 8 };

#define MEMORY ((unsigned char*)0x90000000ul)
#define MEMORY_LIMIT (UINT64_C(1) << 29)

struct visit {
  uint64_t entry, arguments[5], stack, thread;
  uint64_t began, ended, cause, value, place, address;
};

extern void run_in_user_mode(struct visit* visit);
extern long host_call(long number, void* block);
extern char user_code_begin[], user_code_end[], user_data_begin[], user_data_end[], user_stack_top[],
    thread_begin[], empty_kernel[];

static char text[1 << 16];  /* calls.txt, then the report */
static uint64_t text_used;
static uint64_t position;

__attribute__((noreturn)) static void finish(uint64_t status) {
  uint64_t block[2] = {0x20026, status}; /* ADP_Stopped_ApplicationExit */
  host_call(sys_exit, block);
  for (;;) {
  }
}

static long open_file(const char* name, uint64_t length, uint64_t mode) {
  uint64_t block[3] = {(uint64_t)name, mode, length};
  return host_call(sys_open, block);
}

/* Semihosting answers reads and writes with the number of bytes that it did not move. */
static uint64_t read_file(const char* name, uint64_t length, void* to, uint64_t bytes) {
  const long file = open_file(name, length, mode_read);
  if (file < 0) finish(2);
  uint64_t block[3] = {(uint64_t)file, (uint64_t)to, bytes};
  const uint64_t left = (uint64_t)host_call(sys_read, block);
  host_call(sys_close, block);
  return bytes - left;
}

static void write_file(const char* name, uint64_t length, const void* from, uint64_t bytes) {
  const long file = open_file(name, length, mode_write);
  if (file < 0) finish(3);
  uint64_t block[3] = {(uint64_t)file, (uint64_t)from, bytes};
  if (host_call(sys_write, block) != 0) finish(4);
  host_call(sys_close, block);
}

/* Words of calls.txt that are no numbers are for people. */
static int64_t next_number(void) {
  for (;;) {
    while (position < text_used && text[position] <= ' ') ++position;
    if (position >= text_used) finish(5);
    if (text[position] >= '0' && text[position] <= '9') break;
    while (position < text_used && text[position] > ' ') ++position;
  }
  int64_t value = 0;
  while (position < text_used && text[position] >= '0' && text[position] <= '9') value = 10 * value + (text[position++] - '0');
  return value;
}

static void say(const char* words) {
  while (*words != 0 && text_used < sizeof text) text[text_used++] = *words++;
}

static void say_number(uint64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0 && text_used < sizeof text) text[text_used++] = digits[--count];
}

struct call {
  ks_tensor tensors[max_tensors];
  int64_t shapes[max_tensors][max_rank], strides[max_tensors][max_rank];
  int64_t axes[max_axes];
  int64_t n_axes, n_in, n_out;
  uint64_t inputs_begin, inputs_end, outputs_begin, outputs_end;
  struct visit visit;
};
static struct call calls[max_calls];
static uint64_t workspace_begin, workspace_bytes;

/* What the kernel sees of a call lies at the top of its own stack. */
struct user_view {
  ks_tensor tensors[max_tensors];
  int64_t shapes[max_tensors][max_rank], strides[max_tensors][max_rank];
  int64_t axes[max_axes];
  ks_launch launch;
};

static void read_tensor(struct call* c, int64_t t) {
  ks_tensor* tensor = &c->tensors[t];
  (void)next_number(); /* which tensor: they come in order */
  const uint64_t offset = (uint64_t)next_number();
  (void)next_number(); /* bytes: they follow from dtype and shape */
  tensor->dtype = (int32_t)next_number();
  tensor->rank = (int32_t)next_number();
  if (tensor->rank > max_rank || offset > MEMORY_LIMIT) finish(6);
  tensor->data = MEMORY + offset;
  for (int32_t d = 0; d < tensor->rank; ++d) c->shapes[t][d] = next_number();
  int64_t stride = 1;
  for (int32_t d = tensor->rank - 1; d >= 0; --d) {
    c->strides[t][d] = stride;
    stride *= c->shapes[t][d];
  }
}

static void read_call(struct call* c) {
  (void)next_number();
  c->n_axes = next_number();
  if (c->n_axes > max_axes) finish(7);
  for (int64_t a = 0; a < c->n_axes; ++a) c->axes[a] = next_number();
  c->inputs_begin = (uint64_t)next_number();
  c->inputs_end = (uint64_t)next_number();
  c->outputs_begin = (uint64_t)next_number();
  c->outputs_end = (uint64_t)next_number();
  c->n_in = next_number();
  c->n_out = next_number();
  if (c->n_in + c->n_out > max_tensors) finish(8);
  for (int64_t t = 0; t < c->n_in + c->n_out; ++t) read_tensor(c, t);
}

static const ks_tensor* show_to_user(const struct call* c, struct user_view* view) {
  for (int64_t t = 0; t < c->n_in + c->n_out; ++t) {
    view->tensors[t].data = c->tensors[t].data;
    view->tensors[t].dtype = c->tensors[t].dtype;
    view->tensors[t].rank = c->tensors[t].rank;
    view->tensors[t].shape = view->shapes[t];
    view->tensors[t].strides = view->strides[t];
    for (int64_t d = 0; d < max_rank; ++d) {
      view->shapes[t][d] = c->shapes[t][d];
      view->strides[t][d] = c->strides[t][d];
    }
  }
  for (int64_t a = 0; a < c->n_axes; ++a) view->axes[a] = c->axes[a];
  view->launch.stream = NULL;
  view->launch.workspace = MEMORY + workspace_begin;
  view->launch.workspace_bytes = (size_t)workspace_bytes;
  view->launch.device = 0;
  view->launch.threads = 1;
  view->launch.axes = view->axes;
  view->launch.n_axes = (int32_t)c->n_axes;
  return view->tensors;
}

enum { readable = 1, writable = 2, executable = 4, top_of_range = 8 };


/* Five ranges, each between two entries: code, data, workspace, and this call's inputs and outputs. User mode reaches nothing else. */
static void protect(uint64_t inputs_begin, uint64_t inputs_end, uint64_t outputs_begin, uint64_t outputs_end) {
  __asm__ volatile("csrw pmpcfg0, zero");
  __asm__ volatile("csrw pmpaddr0, %0" : : "r"((uint64_t)user_code_begin >> 2));
  __asm__ volatile("csrw pmpaddr1, %0" : : "r"((uint64_t)user_code_end >> 2));
  __asm__ volatile("csrw pmpaddr2, %0" : : "r"((uint64_t)user_data_begin >> 2));
  __asm__ volatile("csrw pmpaddr3, %0" : : "r"((uint64_t)user_data_end >> 2));
  __asm__ volatile("csrw pmpaddr4, %0" : : "r"(inputs_begin >> 2));
  __asm__ volatile("csrw pmpaddr5, %0" : : "r"(inputs_end >> 2));
  __asm__ volatile("csrw pmpaddr6, %0" : : "r"(outputs_begin >> 2));
  __asm__ volatile("csrw pmpaddr7, %0" : : "r"(outputs_end >> 2));
  __asm__ volatile("csrw pmpaddr8, %0" : : "r"(((uint64_t)MEMORY + workspace_begin) >> 2));
  __asm__ volatile("csrw pmpaddr9, %0" : : "r"(((uint64_t)MEMORY + workspace_begin + workspace_bytes) >> 2));
  const uint64_t range[4] = {readable | executable, readable | writable, readable, readable | writable};
  uint64_t configuration = 0;
  for (int r = 0; r < 4; ++r) configuration |= (range[r] | top_of_range) << (16 * r + 8);
  __asm__ volatile("csrw pmpcfg2, %0" : : "r"((uint64_t)(readable | writable | top_of_range) << 8));
  __asm__ volatile("csrw pmpcfg0, %0\n\tsfence.vma" : : "r"(configuration));
}

static void run(struct call* c, uint64_t entry) {
  struct user_view* view = (struct user_view*)(((uint64_t)user_stack_top - sizeof(struct user_view)) & ~UINT64_C(63));
  const ks_tensor* tensors = show_to_user(c, view);
  protect((uint64_t)MEMORY + c->inputs_begin, (uint64_t)MEMORY + c->inputs_end, (uint64_t)MEMORY + c->outputs_begin,
          (uint64_t)MEMORY + c->outputs_end);
  c->visit.entry = entry;
  c->visit.arguments[0] = (uint64_t)tensors;
  c->visit.arguments[1] = (uint64_t)c->n_in;
  c->visit.arguments[2] = (uint64_t)(tensors + c->n_in);
  c->visit.arguments[3] = (uint64_t)c->n_out;
  c->visit.arguments[4] = (uint64_t)&view->launch;
  c->visit.stack = (uint64_t)view;
  c->visit.thread = (uint64_t)thread_begin;
  run_in_user_mode(&c->visit);
}

static const char* fault_name(uint64_t cause) {
  switch (cause) {
    case 1: return "instruction access fault";
    case 2: return "illegal instruction";
    case 3: return "breakpoint";
    case 4: return "misaligned load";
    case 5: return "load access fault";
    case 6: return "misaligned store";
    case 7: return "store access fault";
    default: return "exception";
  }
}

static void report(int64_t number, const struct call* c, uint64_t overhead) {
  const struct visit* v = &c->visit;
  say("call ");
  say_number((uint64_t)number);
  if (v->cause != cause_user_call) {
    const uint64_t at = v->address - (uint64_t)MEMORY;
    say(v->cause == 5 || v->cause == 7 ? " out_of_bounds " : v->cause == 2 ? " refused " : " crashed ");
    say(fault_name(v->cause));
    if (v->cause == 7 && at >= c->inputs_begin && at < c->inputs_end) say(" (an input is read-only)");
    say("\n");
    return;
  }
  if ((uint32_t)v->value != 0) {
    say(" refused launch returned ");
    say_number((uint32_t)v->value);
    say("\n");
    return;
  }
  say(" ok\ncounter ");
  say_number((uint64_t)number);
  say(" instructions ");
  say_number(v->ended - v->began - overhead);
  say("\n");
}

extern int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx);

void machine_main(void) {
  text_used = read_file("calls.txt", 9, text, sizeof text);
  (void)next_number();
  const uint64_t bytes = (uint64_t)next_number();
  workspace_begin = (uint64_t)next_number();
  workspace_bytes = (uint64_t)next_number();
  const int64_t count = next_number();
  if (workspace_begin > MEMORY_LIMIT || workspace_bytes > MEMORY_LIMIT) finish(11);
  if (bytes > MEMORY_LIMIT || count > max_calls) finish(9);
  if (read_file("memory.bin", 10, MEMORY, bytes) != bytes) finish(10);
  for (int64_t i = 0; i < count; ++i) read_call(&calls[i]);
  text_used = 0;
  static struct call nothing;
  run(&nothing, (uint64_t)empty_kernel);
  const uint64_t overhead = nothing.visit.ended - nothing.visit.began;
  for (int64_t i = 0; i < count; ++i) {
    run(&calls[i], (uint64_t)launch);
    report(i, &calls[i], overhead);
    if (calls[i].visit.cause != cause_user_call) break; /* a fault ends the run: the machine is in an unknown state */
  }
  write_file("memory.bin", 10, MEMORY, bytes);
  write_file("report.txt", 10, text, text_used);
  finish(0);
}
