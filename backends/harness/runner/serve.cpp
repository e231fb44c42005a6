// The runner's work: what it was started for is loaded, then the verifier's requests are answered until it hangs up.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "backends/harness/runner/channel.hpp"
#include "backends/harness/runner/device_timeline.hpp"
#include "backends/harness/runner/faults.hpp"
#include "backends/harness/runner/memory_space.hpp"
#include "backends/harness/runner/serve.hpp"
#include "backends/harness/runner/tensors.hpp"

namespace kernsmith::runner {

namespace {

double inside_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Copies tensors pairwise in the order of the stream.
void copy_in_stream(memory_space& space, const std::vector<ks_tensor>& to, const std::vector<ks_tensor>& from) {
  for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) {
    if (!space.copy_in_stream(to[i].data, from[i].data, bytes_of(from[i]))) give_up(wire::answer_kind::broken, "there is no stream here");
  }
}

/// One call between work of others on the same stream: what the kernel reads arrives late, what it wrote is read at once.
void call_in_stream(const message& request, tensor_store& store, memory_space& space, launch_function launch, ks_launch context) {
  wire::answer_header header{};
  header.sequence = request.header.sequence;
  std::uint32_t numbers[2] = {};
  if (request.body.size() < sizeof numbers) give_up(wire::answer_kind::broken, "a request of the verifier is cut short");
  std::memcpy(numbers, request.body.data(), sizeof numbers);
  tensor_set* const others = store.find(numbers[0]);
  tensor_set* const own = store.find(numbers[1]);
  if (others == nullptr || own == nullptr) give_up(wire::answer_kind::broken, "a call names a set that is not there");
  context.axes = own->axes;
  context.n_axes = own->n_axes;
  double time = 0;
  space.begin_batch();
  if (!space.delay_in_stream()) give_up(wire::answer_kind::broken, "there is no stream here");
  copy_in_stream(space, own->inputs, others->inputs);
  header.code = launch(own->inputs.data(), static_cast<int>(own->inputs.size()), own->outputs.data(), static_cast<int>(own->outputs.size()),
                       &context);
  copy_in_stream(space, others->outputs, own->outputs);
  space.end_batch(&time, 1);
  header.kind = header.code != 0 ? wire::answer_kind::refused : wire::answer_kind::done;
  header.count = 1;
  answer(header, std::as_bytes(std::span(&time, 1)));
}

void say_unable(const char* why, std::int32_t code, std::uint64_t sequence) {
  const std::string_view text = why;
  wire::answer_header header{};
  header.kind = wire::answer_kind::unable;
  header.sequence = sequence;
  header.code = code;
  header.count = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), wire::max_text_bytes));
  answer(header, std::as_bytes(std::span(text.data(), header.count)));
}

/// Has the stream record one call. Nothing of it is done yet when the answer goes out, except by a kernel that works beside the stream.
void capture(const message& request, tensor_store& store, memory_space& space, launch_function launch, ks_launch context) {
  wire::answer_header header{};
  header.kind = wire::answer_kind::done;
  header.sequence = request.header.sequence;
  std::uint32_t number = 0;
  if (request.body.size() < sizeof number) give_up(wire::answer_kind::broken, "a request of the verifier is cut short");
  std::memcpy(&number, request.body.data(), sizeof number);
  tensor_set* const set = store.find(number);
  if (set == nullptr) give_up(wire::answer_kind::broken, "a capture names a set that is not there");
  context.axes = set->axes;
  context.n_axes = set->n_axes;
  std::int32_t code = 0;
  const char* why = space.begin_capture(code);
  if (why == nullptr) {
    header.code = launch(set->inputs.data(), static_cast<int>(set->inputs.size()), set->outputs.data(),
                         static_cast<int>(set->outputs.size()), &context);
    why = space.end_capture(number, code);
  }
  if (why != nullptr) return say_unable(why, code, request.header.sequence);
  if (header.code != 0) header.kind = wire::answer_kind::refused;
  answer(header);
}

/// Some calls on one set while CUPTI records what the device does. It slows launches down, so nothing is timed in this process afterwards.
void account_device_time(const message& request, tensor_store& store, memory_space& space, launch_function launch, ks_launch context) {
  wire::device_time_body what{};
  if (request.body.size() <= sizeof what || request.body.back() != std::byte{0})
    give_up(wire::answer_kind::broken, "a request of the verifier is cut short");
  std::memcpy(&what, request.body.data(), sizeof what);
  tensor_set* const set = store.find(what.set);
  if (set == nullptr) give_up(wire::answer_kind::broken, "a call names a set that is not there");
  context.axes = set->axes;
  context.n_axes = set->n_axes;
  wire::answer_header header{};
  header.kind = wire::answer_kind::done;
  header.sequence = request.header.sequence;
  double time = 0;
  space.begin_batch();
  space.end_batch(&time, 0);
  if (const char* why = start_timeline(reinterpret_cast<const char*>(request.body.data() + sizeof what)))
    return say_unable(why, 0, request.header.sequence);
  for (std::uint32_t call = 0; call < what.calls && header.code == 0; ++call) {
    if (what.replays == 0) {
      header.code = launch(set->inputs.data(), static_cast<int>(set->inputs.size()), set->outputs.data(),
                           static_cast<int>(set->outputs.size()), &context);
    } else if (!space.replay(what.set)) {
      give_up(wire::answer_kind::broken, "a batch replays what was never captured");
    }
  }
  space.end_batch(&time, 1);
  const timeline_sums sums = end_timeline();
  if (header.code != 0) {
    header.kind = wire::answer_kind::refused;
    return answer(header);
  }
  if (sums.kernels + sums.copies == 0) return say_unable("CUPTI recorded nothing", 0, request.header.sequence);
  time = static_cast<double>(sums.busy_ns) / std::max<double>(what.calls, 1);
  header.count = 1;
  answer(header, std::as_bytes(std::span(&time, 1)));
}

/// Calls each set in order, or replays what was captured of it; stops at the first that is refused. The answer carries this process's own
/// time for each call.
void call_batch(const message& request, tensor_store& store, memory_space& space, launch_function launch, ks_launch context) {
  static double times[wire::max_batch_calls];
  wire::answer_header header{};
  header.kind = wire::answer_kind::done;
  header.sequence = request.header.sequence;
  if (request.header.count > wire::max_batch_calls || request.body.size() < request.header.count * sizeof(std::uint32_t)) {
    give_up(wire::answer_kind::broken, "a batch is larger than its message");
  }
  const bool replays = request.header.kind == wire::request_kind::replay;
  space.begin_batch();
  for (std::uint32_t i = 0; i < request.header.count && header.kind == wire::answer_kind::done; ++i) {
    std::uint32_t number = 0;
    std::memcpy(&number, request.body.data() + i * sizeof number, sizeof number);
    tensor_set* const set = store.find(number);
    if (set == nullptr) give_up(wire::answer_kind::broken, "a batch names a set that is not there");
    context.axes = set->axes;
    context.n_axes = set->n_axes;
    const double begin = inside_ns();
    int code = 0;
    if (!replays) {
      code = launch(set->inputs.data(), static_cast<int>(set->inputs.size()), set->outputs.data(), static_cast<int>(set->outputs.size()),
                    &context);
    } else if (!space.replay(number)) {
      give_up(wire::answer_kind::broken, "a batch replays what was never captured");
    }
    times[i] = inside_ns() - begin;
    header.count = i + 1;
    header.code = code;
    if (code != 0) header.kind = wire::answer_kind::refused;
  }
  space.end_batch(times, header.count);
  answer(header, std::as_bytes(std::span(times, header.count)));
}

/// Waits until the verifier names the library.
launch_function load_what_is_named(const kernel_host& host, const ks_launch& context) {
  const message request = receive();
  const std::string path(reinterpret_cast<const char*>(request.body.data()), request.body.size());
  if (request.header.kind != wire::request_kind::load || path.empty() || path.back() != '\0')
    give_up(wire::answer_kind::broken, "a runner without a library was asked for something else");
  const launch_function launch = host.load(path.c_str(), context);
  wire::answer_header done{};
  done.kind = wire::answer_kind::done;
  done.sequence = request.header.sequence;
  answer(done);
  return launch;
}

[[noreturn]] void answer_requests(memory_space& space, const kernel_host& host, launch_function launch, const ks_launch& context) {
  tensor_store store(space);
  for (;;) {
    const message request = receive();
    wire::answer_header header{};
    header.kind = wire::answer_kind::done;
    header.sequence = request.header.sequence;
    switch (request.header.kind) {
      case wire::request_kind::device_time:
        account_device_time(request, store, space, launch, context);
        continue;
      case wire::request_kind::capture:
        capture(request, store, space, launch, context);
        continue;
      case wire::request_kind::call:
      case wire::request_kind::replay:
        call_batch(request, store, space, launch, context);
        if (host.follow != nullptr) host.follow();
        continue;
      case wire::request_kind::call_in_stream:
        call_in_stream(request, store, space, launch, context);
        continue;
      case wire::request_kind::load:
        give_up(wire::answer_kind::broken, "there is a library already");
      case wire::request_kind::renew:
        give_up(wire::answer_kind::broken, "a process that serves was asked for another");
      case wire::request_kind::map_buffer:
        header.value = store.map(request);
        break;
      case wire::request_kind::add_set:
        take_faults_back();  // here, since it is no part of any timed call
        store.add(request);
        break;
      case wire::request_kind::drop_sets:
        store.drop();
        break;
    }
    answer(header);
  }
}

}  // namespace

void serve(const runner_arguments& given, const kernel_host& host) {
  report_faults();
  ks_launch context{};
  context.threads = static_cast<std::int32_t>(std::strtol(given.threads, nullptr, 10));
  context.workspace_bytes = std::strtoull(given.workspace_bytes, nullptr, 10);
  const auto space =
      given.driver != nullptr ? cuda_memory(given.driver, static_cast<int>(std::strtol(given.ordinal, nullptr, 10))) : host_memory();
  space->prepare(context);
  const bool waits = std::strcmp(given.library, "-") == 0;
  launch_function launch = waits ? nullptr : host.load(given.library, context);
  wire::answer_header loaded{};
  loaded.kind = wire::answer_kind::loaded;
  loaded.value = reinterpret_cast<std::uint64_t>(context.workspace);
  answer(loaded);
  if (waits) launch = load_what_is_named(host, context);
  answer_requests(*space, host, launch, context);
}

bool read_arguments(int argc, char** argv, runner_arguments& given) {
  if (argc != 4 && argc != 6) return false;
  given = {argv[1], argv[2], argv[3], argc == 6 ? argv[4] : nullptr, argc == 6 ? argv[5] : nullptr};
  return true;
}

}  // namespace kernsmith::runner
