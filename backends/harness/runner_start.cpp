#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "backends/harness/find_runner.hpp"
#include "backends/harness/openmp_environment.hpp"
#include "backends/harness/sandboxed_runner.hpp"

namespace kernsmith::harness {

namespace {

/// Threads beyond the kernel's own: pools of libraries.
constexpr int runner_threads_base = 256, runner_threads_per_core = 4;

result<std::filesystem::path> make_folder() {
  std::error_code failed;
  std::string pattern = (std::filesystem::temp_directory_path(failed) / "kernsmith-runner-XXXXXX").string();
  if (failed || ::mkdtemp(pattern.data()) == nullptr) return fail(fault::infrastructure, errno_text("making " + pattern, errno));
  return pattern;
}

}  // namespace

sandboxed_runner::~sandboxed_runner() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

result<std::unique_ptr<sandboxed_runner>> sandboxed_runner::spawn(const runner_options& options, const std::filesystem::path& library) {
  auto program = options.host.empty() ? find_runner() : find_hosted_runner();
  if (!program) return tl::unexpected(program.error());
  if (options.cores.empty()) return fail(fault::bug, "a runner was given no cores");
  descriptor far_end;
  auto channel = control_channel::make(far_end);
  if (!channel) return tl::unexpected(channel.error());

  auto made = std::make_unique<sandboxed_runner>();
  const bool waits = library.empty();
  const bool renewable = options.renewable && options.trusted && !options.host.empty() && !waits;
  if (waits) {
    auto folder = make_folder();
    if (!folder) return tl::unexpected(folder.error());
    made->folder_ = std::move(*folder);
  }
  sandbox_spec spec;
  const std::size_t threads = options.threads > 0 ? static_cast<std::size_t>(options.threads) : options.cores.size();
  spec.command = options.host;
  for (const std::string& argument :
       {program->string(), waits ? std::string("-") : library.string(), std::to_string(threads), std::to_string(options.workspace_bytes)})
    spec.command.push_back(argument);
  if (!options.accelerator.driver.empty()) {
    spec.command.push_back(options.accelerator.driver.string());
    spec.command.push_back(std::to_string(options.accelerator.ordinal));
    spec.devices = options.accelerator.nodes;
  }
  spec.read_only = options.readable;
  spec.read_only_at = options.readable_at;
  spec.scratch = options.scratch;
  spec.read_only.push_back(*program);
  spec.read_only.push_back(waits ? made->folder_ : library);
  spec.environment = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}, {"HOME", "/tmp"}};
  for (auto&& variable : openmp_environment(options.cores)) spec.environment.push_back(std::move(variable));
  spec.environment.insert(spec.environment.end(), options.environment.begin(), options.environment.end());
  spec.descriptors = {{far_end.get(), wire::control_descriptor}};
  if (options.trusted && options.outputs_follow) spec.environment.emplace_back(wire::outputs_follow_variable, "1");
  if (renewable) spec.environment.emplace_back(wire::renewable_variable, "1");
  if (options.trusted) spec.writable = options.writable;
  spec.tmpfs_bytes = options.tmpfs_bytes;
  spec.memory_limit_bytes = options.memory_limit_bytes;
  spec.max_file_bytes = runner_max_file_bytes;
  spec.max_processes = runner_threads_base + runner_threads_per_core * static_cast<int>(options.cores.size());
  spec.may_fork = options.may_fork;
  spec.cores = options.cores;
  auto tree = sandbox_process::start(spec);
  if (!tree) return tl::unexpected(tree.error());
  far_end.reset();

  made->tree_ = std::move(*tree);
  made->channel_ = std::move(*channel);
  made->renewable_ = renewable;
  made->load_timeout_s_ = options.load_timeout_s;
  made->memory_limit_bytes_ = options.memory_limit_bytes;
  made->workspace_bytes_ = options.workspace_bytes;
  made->spins_ = !options.accelerator.driver.empty();
  made->max_threads_ = spec.max_processes;
  made->hosted_ = !options.host.empty();
  made->may_fork_ = options.may_fork && !options.trusted;
  if (renewable) {
    made->first_ = std::move(made->channel_);
    if (auto asked = made->ask_for_process(); !asked) return tl::unexpected(asked.error());
  }
  return made;
}

result<void> sandboxed_runner::how_loading_ended() const {
  if (load_error_) return fail(fault::bad_request, *load_error_);
  if (death_ && death_->status == call_status::lost) return fail(fault::infrastructure, death_->detail);
  return {};
}

result<void> sandboxed_runner::arrive(double timeout_s) {
  if (death_ || cpu_clock_) return how_loading_ended();
  answer_message there;
  if (!await(0, monotonic_s() + timeout_s, there)) return how_loading_ended();
  fences_.push_back({there.header.value, workspace_bytes_, "the workspace"});
  fixed_fences_ = 1;
  clockid_t clock{};
  if (const auto pid = serving_pid(); pid && ::clock_getcpuclockid(*pid, &clock) == 0) {
    cpu_clock_ = clock;
    pid_ = *pid;
    pidfd_ = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  }
  return {};
}

result<void> sandboxed_runner::ask_for_process() {
  descriptor far_end;
  auto channel = control_channel::make(far_end);
  if (!channel) return tl::unexpected(channel.error());
  channel_ = std::move(*channel);
  // When the first process has ended, the far end goes with the message, and the channel tells that it is closed.
  (void)first_.send(request_message(wire::request_kind::renew, 0, 0).bytes(), far_end.get());
  return {};
}

std::optional<int> sandboxed_runner::serving_pid() const {
  const auto command = tree_->command_pid();
  return command && renewable_ ? only_child(*command) : command;
}

result<void> sandboxed_runner::renew() {
  if (!renewable_) return fail(fault::bug, "a runner that can't be renewed was asked to be");
  if (death_) return fail(fault::infrastructure, death_->detail);
  frozen_ = false;
  sets_ = 0;
  sequence_ = 0;
  fault_messages_ = 0;
  fault_.reset();
  buffers_.clear();
  fences_.clear();
  buffer_bytes_ = 0;
  empty_call_ns_ = 0;
  cpu_clock_.reset();
  pid_ = -1;
  pidfd_.reset();
  // Kept until the other is there: the process at its far end would take its closing for the end of all, and the first process after it.
  const control_channel before = std::move(channel_);
  if (auto asked = ask_for_process(); !asked) return asked;
  if (auto there = arrive(load_timeout_s_); !there) return there;
  if (death_) return fail(fault::infrastructure, "a renewed process ended at once: " + death_->detail);
  return {};
}

result<void> sandboxed_runner::load(const std::filesystem::path& library, double timeout_s) {
  const std::filesystem::path inside = folder_ / library.filename();
  std::error_code failed;
  std::filesystem::copy_file(library, inside, failed);
  if (failed) return fail(fault::bad_request, fmt::format("loading {}: {}", library.string(), failed.message()));
  request_message request(wire::request_kind::load, 1, ++sequence_);
  const std::string path = inside.string();
  request.append_bytes(path.c_str(), path.size() + 1);
  answer_message answer;
  double wall_ns = 0;
  (void)exchange(request, sequence_, timeout_s, answer, wall_ns);
  return how_loading_ended();
}

result<std::unique_ptr<runner_client>> runner_client::start(const runner_options& options) {
  std::error_code failed;
  const std::filesystem::path library = std::filesystem::canonical(options.library, failed);
  if (failed) return fail(fault::bad_request, fmt::format("loading {}: {}", options.library.string(), failed.message()));
  auto made = sandboxed_runner::spawn(options, library);
  if (!made) return tl::unexpected(made.error());
  if (auto loaded = (*made)->arrive(options.load_timeout_s); !loaded) return tl::unexpected(loaded.error());
  return std::unique_ptr<runner_client>(std::move(*made));
}

vacant_runner::vacant_runner(std::unique_ptr<sandboxed_runner> runner, double load_timeout_s)
    : runner_(std::move(runner)), load_timeout_s_(load_timeout_s) {}
vacant_runner::vacant_runner(vacant_runner&&) noexcept = default;
vacant_runner& vacant_runner::operator=(vacant_runner&&) noexcept = default;
vacant_runner::~vacant_runner() = default;

result<vacant_runner> vacant_runner::begin(const runner_options& options) {
  auto made = sandboxed_runner::spawn(options, {});
  if (!made) return tl::unexpected(made.error());
  return vacant_runner(std::move(*made), options.load_timeout_s);
}

result<void> vacant_runner::settle() {
  auto there = runner_->arrive(load_timeout_s_);
  if (there && !runner_->alive())
    return fail(fault::infrastructure, "a runner ended before it was given anything: " + runner_->output_tail());
  return there;
}

result<std::unique_ptr<runner_client>> vacant_runner::load(const std::filesystem::path& library) {
  if (auto there = settle(); !there) return tl::unexpected(there.error());
  if (auto loaded = runner_->load(library, load_timeout_s_); !loaded) return tl::unexpected(loaded.error());
  return std::unique_ptr<runner_client>(std::move(runner_));
}

}  // namespace kernsmith::harness
