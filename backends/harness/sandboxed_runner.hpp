// How runner_client does it: for its own translation units.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/harness/bounded_output.hpp"
#include "backends/harness/control_channel.hpp"
#include "backends/harness/how_it_ended.hpp"
#include "backends/harness/runner_client.hpp"
#include "backends/harness/sandbox_process.hpp"

namespace kernsmith::harness {

class sandboxed_runner final : public runner_client {
 public:
  sandboxed_runner() = default;
  ~sandboxed_runner() override;
  /// Starts the process. `library`: seen by it at its own path, loaded at once; empty: it waits for one in a folder that is its own.
  static result<std::unique_ptr<sandboxed_runner>> spawn(const runner_options& options, const std::filesystem::path& library);
  /// Waits until the process is set up and, if it was given one, its library is loaded. The errors of runner_client::start().
  [[nodiscard]] result<void> arrive(double timeout_s);
  /// Loads a library into a process that waits for one.
  [[nodiscard]] result<void> load(const std::filesystem::path& library, double timeout_s);

  result<int> add_set(const buffer_set& set) override;
  result<void> drop_sets() override;
  call_result call(const std::vector<int>& sets, double timeout_s) override;
  call_result call_in_stream(int others, int own, double timeout_s) override;
  call_result capture(int set, double timeout_s) override;
  call_result replay(const std::vector<int>& sets, double timeout_s) override;
  call_result device_time(int set, const device_time_request& how, double timeout_s) override;
  [[nodiscard]] bool alive() const override { return !death_; }
  std::string output_tail() override;
  [[nodiscard]] double cpu_ns() const override;
  bool settle(double timeout_s) override;
  bool freeze() override;
  void thaw() override;
  [[nodiscard]] std::string what_moved() const override;
  [[nodiscard]] std::vector<executable_mapping> executable_mappings() const override;
  result<void> renew() override;
  double empty_call_ns() override;

 private:
  /// Sends a request and waits for its answer. False: the runner has ended, and death_ tells how.
  bool exchange(const request_message& request, std::uint64_t sequence, double timeout_s, answer_message& answer, double& wall_ns);
  bool await(std::uint64_t sequence, double deadline_s, answer_message& answer);
  bool take_messages(std::uint64_t sequence, answer_message& answer, bool& answered);
  result<std::uint32_t> map(const mappable_buffer& buffer);
  [[nodiscard]] request_message naming(wire::request_kind kind, const std::vector<int>& sets);
  call_result run(const request_message& request, const std::vector<int>& sets, std::size_t times, double timeout_s);
  void tell_hosted(std::int32_t code, call_result& done);
  void look_at_usage();
  void end_by_kill(call_status status, std::string detail);
  void end_by_itself();
  [[nodiscard]] result<void> how_loading_ended() const;
  /// Asks the first process of a renewable runner for one that serves channel_.
  result<void> ask_for_process();
  /// The process that serves, as seen outside: the command itself, or its one child.
  [[nodiscard]] std::optional<int> serving_pid() const;

  std::unique_ptr<sandbox_process> tree_;
  control_channel channel_;
  control_channel first_;  ///< renewable: to the process that forks the one that serves
  bounded_output output_;
  bool output_open_ = true;
  std::optional<call_result> death_;
  std::optional<wire::answer_header> fault_;  ///< the first that was reported
  int fault_messages_ = 0;
  std::optional<std::string> load_error_;
  std::filesystem::path folder_;  ///< where a library is put for a process that waits for one; removed with this
  std::uint64_t workspace_bytes_ = 0;
  std::map<const mappable_buffer*, std::uint32_t> buffers_;
  std::vector<fenced_range> fences_;
  std::size_t fixed_fences_ = 0;  ///< of the workspace: they stay when the sets are dropped
  std::int64_t buffer_bytes_ = 0;
  std::int64_t memory_limit_bytes_ = 0;
  int max_threads_ = 0;
  int sets_ = 0;
  std::uint64_t sequence_ = 0;
  double next_look_s_ = 0;
  std::optional<clockid_t> cpu_clock_;
  int pid_ = -1;  ///< of the runner itself, as seen outside
  descriptor pidfd_;
  bool frozen_ = false;
  bool spins_ = false;   ///< while it waits for an answer
  bool hosted_ = false;  ///< by an interpreter
  bool renewable_ = false;
  double load_timeout_s_ = 0;
  bool may_fork_ = false;        ///< candidates only
  bool left_processes_ = false;  ///< at an answer there were more than the runner itself
  double cpu_at_freeze_ns_ = 0;
  double empty_call_ns_ = 0;
};

}  // namespace kernsmith::harness
