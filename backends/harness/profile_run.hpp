// One kernel run by itself in the sandbox, alone or with a profiler wrapped around it: inputs as files, a manifest, and the report that
// kernsmith-runner's profile mode leaves. What it reports is the candidate's process speaking: good for a diagnosis, never for a verdict.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backends/harness/runner_client.hpp"
#include "backends/harness/sandbox.hpp"
#include "config/problem.hpp"

namespace kernsmith::harness {

/// A folder of its own with the input files of one problem under one set of axes; gone with this object. Movable.
class profile_folder {
 public:
  /// Made inside `parent`. Inputs are filled as the problem declares them.
  [[nodiscard]] static result<profile_folder> create(const problem& p, const std::vector<std::int64_t>& axes, std::uint64_t seed,
                                                     const std::filesystem::path& parent);
  ~profile_folder();
  profile_folder(profile_folder&& other) noexcept : path_(std::move(other.path_)), tensors_(std::move(other.tensors_)) {
    other.path_.clear();
  }
  profile_folder& operator=(profile_folder&&) = delete;

  [[nodiscard]] std::filesystem::path inputs() const { return path_ / "inputs"; }  ///< read-only inside the sandbox
  [[nodiscard]] std::filesystem::path output() const { return path_ / "out"; }     ///< /profile inside the sandbox
  /// The manifest's lines for axes and tensors.
  [[nodiscard]] const std::string& tensors() const { return tensors_; }

 private:
  profile_folder() = default;
  std::filesystem::path path_;
  std::string tensors_;
};

/// Where the folder's output() appears inside.
inline constexpr const char* profile_output_inside = "/profile";

struct profile_run_spec {
  std::filesystem::path library;     ///< shared object with `launch`
  std::vector<int> cores;            ///< affinity, OpenMP places and the number of threads
  std::vector<std::string> wrapper;  ///< profiler and its arguments; the runner's command is appended. Empty: the runner alone
  std::filesystem::path timeline;    ///< CUPTI's library: record what the device does
  accelerator_access accelerator;    ///< with a driver: the tensors lie on a device
  std::vector<std::filesystem::path> readable;
  std::vector<std::pair<std::string, std::string>> environment;  ///< beyond the usual
  std::size_t warm_calls = 1, calls = 1;
  double seconds = 0;  ///< goes on calling until then
  bool sample = false;
  double timeout_s = 60;
  const std::atomic<bool>* stop = nullptr;  ///< set: the process tree is killed, and the run is an error of kind interrupted
  std::string* output = nullptr;            ///< gets what the command printed, however it ended
  std::int64_t memory_limit_bytes = std::int64_t{16} << 30;
};

/// Samples at one address.
struct profile_sample {
  long thread = 0;
  std::size_t count = 0;
  std::uint64_t offset = 0;  ///< from where the object was loaded
  std::string object;        ///< path inside the sandbox
};

/// What a device did during the counted calls and the synchronisation after them.
struct device_timeline {
  double kernels = 0, copies = 0;
  double busy_ns = 0, span_ns = 0;  ///< something ran; from the first start to the last end
  double syncs = 0, sync_ns = 0;    ///< the host waited for the device
};

struct profile_report {
  std::size_t calls = 0;
  double call_ns = 0;   ///< median by the process's own clock
  double wall_ns = 0;   ///< of all counted calls
  double cpu_ns = 0;    ///< of all threads meanwhile
  double event_ns = 0;  ///< a device's own time for them; 0 on the host
  device_timeline timeline;
  std::vector<profile_sample> samples;
  std::string output;  ///< what the command printed, bounded
};

/// A run that ends with anything but a report is an error of kind bad_request whose message says how it ended.
[[nodiscard]] result<profile_report> run_for_profile(const profile_folder& folder, const profile_run_spec& spec);

/// Reads a report's text; corrupt when it has no calls.
[[nodiscard]] result<profile_report> parse_profile_report(const std::string& text);

}  // namespace kernsmith::harness
