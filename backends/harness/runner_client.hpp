// The verifier's end of one kernsmith-runner: starts it in the sandbox, hands it buffers, has it call the kernel, and reads the outside
// clock. Nothing that the runner says is trusted beyond choosing between two words for a failure; the verdict comes from buffers and clocks
// read here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/harness/frozen_process.hpp"
#include "backends/harness/mappable_buffer.hpp"
#include "config/dtype.hpp"
#include "config/error.hpp"

namespace kernsmith::harness {

/// One tensor of one buffer set, as the kernel will see it.
struct tensor_binding {
  const mappable_buffer* buffer = nullptr;  ///< stays alive until the runner unmaps it (drop_sets or the runner's end)
  dtype type = dtype::f32;
  std::vector<std::int64_t> shape;  ///< row-major, dense
  bool writable = false;            ///< outputs; inputs are mapped writable too, so that a modification is seen and named
  std::uint64_t offset = 0;         ///< bytes behind the buffer's data: several tensors may share one buffer
};

/// All tensors of one call.
struct buffer_set {
  std::vector<tensor_binding> inputs, outputs;
  std::vector<std::int64_t> axes;
};

/// What a runner needs to use an accelerator. Without a driver it is a CPU's.
struct accelerator_access {
  std::filesystem::path driver;              ///< the driver's library, as loaded by the verifier
  std::vector<std::filesystem::path> nodes;  ///< device nodes bound into the sandbox
  int ordinal = 0;                           ///< among the devices that `environment` lets be seen
};

struct runner_options {
  std::filesystem::path library;  ///< shared object with `launch`
  std::vector<int> cores;         ///< CPU ids the kernel may use; also OMP places, bound
  int threads = 0;                ///< that the kernel is told to use and OpenMP starts; 0: one per core, bound to it
  std::uint64_t workspace_bytes = 64u << 20;
  std::int64_t memory_limit_bytes = std::int64_t{8} << 30;
  double load_timeout_s = 20;
  bool trusted = false;  ///< reference and builtin baselines: may link vendor libraries; same sandbox
  /// An interpreter and its arguments, for kernels that one hosts: it loads the runner as a library (runner/hosted.hpp). Empty: none.
  std::vector<std::string> host;
  bool may_fork = false;  ///< for what starts compilers while it runs; processes left behind at an answer then count as work left
  /// Trusted ones with a host only: a first process has the interpreter and its libraries, and forks the one that serves; see renew().
  bool renewable = false;
  bool outputs_follow = false;     ///< trusted ones only: what was computed is put into the outputs after the answer; see kernel_process
  double new_set_allowance_s = 0;  ///< more time for the first call on a set of buffers: compilers that run then
  std::int64_t tmpfs_bytes = std::int64_t{64} << 20;  ///< private /tmp
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>>
      writable;  ///< trusted ones only: caches of compilers, outside -> inside
  accelerator_access accelerator;
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> readable_at;  ///< read-only, outside -> inside
  std::vector<std::filesystem::path> scratch;                                        ///< sandbox_spec::scratch
  std::vector<std::filesystem::path> readable;                                       ///< extra read-only paths inside the sandbox
  std::vector<std::pair<std::string, std::string>> environment;                      ///< extra variables
};

enum class call_status : std::uint8_t {
  ok,
  wrong_shape,     ///< hosted kernels: what they gave has another shape than the output
  wrong_dtype,     ///< or another type of elements
  refused,         ///< launch returned non-zero, or the kernel needs an instruction that this processor lacks
  crashed,         ///< died by a signal
  out_of_bounds,   ///< died by a fault on a guard page of a buffer
  exited,          ///< ended without answering (_exit, abort is `crashed`)
  timeout,         ///< the whole process tree was killed
  resource_limit,  ///< memory, descriptors, output
  lost,            ///< the harness itself failed: infrastructure
};

struct call_result {
  call_status status = call_status::lost;
  std::string detail;
  double wall_ns = 0;             ///< outside clock around the whole batch
  std::vector<double> inside_ns;  ///< the runner's own clock per call: a second opinion, never a verdict
  double cpu_ns = 0;              ///< CPU time that the runner's process used in the batch, as the kernel counts it outside
  bool unable = false;            ///< refused, and not by launch: it can't be done with this kernel, or here; the detail says why
  double cpu_at_answer_ns = 0;    ///< cpu_ns() right after the answer: later growth is work left behind in a thread
};

struct device_time_request {
  std::filesystem::path cupti;  ///< the library
  int calls = 20;
  bool replays = false;  ///< of what was captured, instead of calls
};

/// Drives one runner process. Not thread-safe. The process tree dies with this object, and with this process.
class runner_client {
 public:
  /// Starts the sandboxed process and loads the library. Failure to load is an error of kind bad_request whose message is the loader's;
  /// a sandbox that can't be set up is missing_here; anything else infrastructure. A library that ends its process while it loads (a
  /// constructor that crashes, exits or never returns) gives a client that is not alive() and whose call() says so.
  [[nodiscard]] static result<std::unique_ptr<runner_client>> start(const runner_options& options);
  virtual ~runner_client() = default;
  /// Makes a buffer set known to the runner (its memfds are sent by SCM_RIGHTS and mapped between guard pages). Returns its number.
  /// When the runner has ended by the candidate's doing, a number is still given and call() tells the end.
  [[nodiscard]] virtual result<int> add_set(const buffer_set& set) = 0;
  [[nodiscard]] virtual result<void> drop_sets() = 0;
  /// Calls launch once for each number in `sets`, in that order, in one batch under one outside clock.
  [[nodiscard]] virtual call_result call(const std::vector<int>& sets, double timeout_s) = 0;
  /// Devices only: launch on set `own` amid other work on its stream. Inputs arrive there late, from set `others`; right behind the launch
  /// its outputs are copied to those of `others`. Work on other streams that is not joined shows in them.
  [[nodiscard]] virtual call_result call_in_stream(int others, int own, double timeout_s) = 0;
  /// CUDA devices only: calls launch on `set` while the stream records, and keeps the recording for replay(). Nothing of it is done yet.
  /// `refused` when launch refuses, or does what can't be recorded; the runner stays alive.
  [[nodiscard]] virtual call_result capture(int set, double timeout_s) = 0;
  /// As call(), of sets that were captured: their recordings are launched instead.
  [[nodiscard]] virtual call_result replay(const std::vector<int>& sets, double timeout_s) = 0;
  /// CUDA devices only: how long the device is at work for one call on `set`, in `inside_ns`, by CUPTI's records in the runner's process: a
  /// second opinion like the others. Nothing is timed in that process afterwards, since recording goes on costing. `refused` without CUPTI.
  [[nodiscard]] virtual call_result device_time(int set, const device_time_request& how, double timeout_s) = 0;
  /// False after any result other than ok and a refusal.
  [[nodiscard]] virtual bool alive() const = 0;
  /// Bounded tail of what the process wrote to stdout and stderr.
  [[nodiscard]] virtual std::string output_tail() = 0;
  /// CPU time of the runner's process since it began, all threads; 0 when it has ended.
  [[nodiscard]] virtual double cpu_ns() const = 0;
  /// Stops every thread of the runner until thaw() or the next call, so that the buffers hold what they held at the answer. False when it
  /// has ended or does not stop: stayed_frozen() then says no.
  [[nodiscard]] virtual bool freeze() = 0;
  virtual void thaw() = 0;
  /// False when the runner runs, or has run, though it was frozen: it had itself continued.
  [[nodiscard]] bool stayed_frozen() const { return what_moved().empty(); }
  /// By what that shows; empty when it stood still.
  [[nodiscard]] virtual std::string what_moved() const = 0;
  /// What the runner may execute, by the system's account; empty when it has ended.
  [[nodiscard]] virtual std::vector<executable_mapping> executable_mappings() const = 0;
  /// Waits until the runner's threads are idle: idle OpenMP threads spin for a while (openmp_environment.cpp), which would run into the
  /// other leg's timed calls. False when it still uses CPU time after `timeout_s`: it works on after its answer.
  [[nodiscard]] virtual bool settle(double timeout_s) = 0;
  /// Another process instead of this one, with the same library and none of its memory, as new as runner_client::start() would give it but
  /// for what the interpreter had loaded before any kernel: that takes seconds less. All sets are forgotten. Only with
  /// runner_options::renewable (bug without it); errors are those of start(), and then the runner has ended.
  [[nodiscard]] virtual result<void> renew() = 0;
  /// Median outside time of an empty batch (no calls): the harness's own share of wall_ns.
  [[nodiscard]] virtual double empty_call_ns() = 0;
};

class sandboxed_runner;

/// A runner that has everything but its library. On an accelerator that is most of what a start takes, and none of it needs to wait until
/// the candidate is known. No candidate's code is in it before load().
class vacant_runner {
 public:
  /// As runner_client::start(), but `options.library` is not looked at. Returns as soon as the process is there.
  [[nodiscard]] static result<vacant_runner> begin(const runner_options& options);
  vacant_runner(vacant_runner&&) noexcept;
  vacant_runner& operator=(vacant_runner&&) noexcept;
  ~vacant_runner();
  /// Waits until it is set up, and so at rest. infrastructure when it ended instead.
  [[nodiscard]] result<void> settle();
  /// Loads `library` into it, once. Errors and dead clients are those of runner_client::start().
  [[nodiscard]] result<std::unique_ptr<runner_client>> load(const std::filesystem::path& library);

 private:
  vacant_runner(std::unique_ptr<sandboxed_runner> runner, double load_timeout_s);
  std::unique_ptr<sandboxed_runner> runner_;
  double load_timeout_s_;
};

}  // namespace kernsmith::harness
