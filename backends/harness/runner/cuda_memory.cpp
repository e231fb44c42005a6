// Device mode: the verifier's device memory is imported by descriptor and mapped between unmapped addresses; a batch ends when the whole
// context is idle, so that work on other streams than the one handed out counts, too.
#include <unistd.h>

#include <map>
#include <string>

#include "backends/harness/cuda_driver.hpp"
#include "backends/harness/runner/channel.hpp"
#include "backends/harness/runner/memory_space.hpp"

namespace kernsmith::runner {

namespace {

namespace cuda = harness::cuda;

/// What an empty batch sets on the stream, so that a batch always begins with the device switched to this context.
constexpr std::size_t touched_bytes = 256;
/// A delay is a number of fills of as much memory, about a millisecond.
constexpr std::size_t filled_bytes = std::size_t{64} << 20;
constexpr int fills = 64;

class device_memory final : public memory_space {
 public:
  device_memory(const char* library, int ordinal) : ordinal_(ordinal) {
    if (const char* why = driver_.load(library)) give_up(wire::answer_kind::broken, std::string("loading the CUDA driver: ") + why);
    int device = 0;
    cuda::context_handle context = nullptr;
    need(driver_.init(0), "starting the CUDA driver");
    need(driver_.device_get(&device, ordinal), "finding the device");
    need(driver_.primary_retain(&context, device), "making a context");
    need(driver_.context_set(context), "making a context current");
    need(driver_.stream_create(&stream_, 0), "making a stream");
    need(driver_.event_create(&first_, 0), "making an event");
    need(driver_.event_create(&last_, 0), "making an event");
    need(driver_.memory_allocate(&touched_, touched_bytes), "taking device memory");
  }

  std::uint64_t map(int descriptor, const wire::map_body& what) override {
    cuda::memory_handle memory = 0;
    cuda::device_address start = 0;
    need(driver_.import_handle(&memory, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)), cuda::handle_is_descriptor),
         "importing a buffer");
    need(cuda::map_between_guards(driver_, memory, what.file_bytes, ordinal_, start), "mapping a buffer");
    (void)driver_.release(memory);  // the mapping keeps it
    ::close(descriptor);
    return start;
  }
  void unmap(std::uint64_t start, std::size_t bytes) override { cuda::unmap_with_guards(driver_, start, bytes); }

  void prepare(ks_launch& context) override {
    context.stream = stream_;
    context.device = ordinal_;
    if (context.workspace_bytes == 0) return;
    cuda::device_address workspace = 0;
    need(driver_.memory_allocate(&workspace, context.workspace_bytes), "taking the workspace");
    context.workspace = reinterpret_cast<void*>(workspace);
  }

  void begin_batch() override {
    check(driver_.set_bytes_async(touched_, 0, touched_bytes, stream_));
    check(driver_.event_record(first_, stream_));
  }
  void end_batch(double* times_ns, std::uint32_t count) override {
    check(driver_.event_record(last_, stream_));
    check(driver_.context_synchronize());
    float elapsed_ms = 0;
    if (count == 0 || driver_.event_elapsed_ms(&elapsed_ms, first_, last_) != cuda::success) return;
    for (std::uint32_t i = 0; i < count; ++i) times_ns[i] = static_cast<double>(elapsed_ms) * 1e6 / count;
  }

  bool delay_in_stream() override {
    if (filled_ == 0) need(driver_.memory_allocate(&filled_, filled_bytes), "taking device memory");
    for (int i = 0; i < fills; ++i) check(driver_.set_bytes_async(filled_, 0, filled_bytes, stream_));
    return true;
  }
  const char* begin_capture(std::int32_t& code) override {
    code = driver_.capture_begin(stream_, cuda::capture_of_this_thread);
    return code == cuda::success ? nullptr : driver_.name_of(code);
  }
  const char* end_capture(std::uint32_t number, std::int32_t& code) override {
    cuda::graph_handle graph = nullptr;
    cuda::ready_graph_handle ready = nullptr;
    code = driver_.capture_end(stream_, &graph);
    if (code == cuda::success) code = driver_.graph_instantiate(&ready, graph, 0);
    if (graph != nullptr) (void)driver_.graph_destroy(graph);
    if (code == cuda::success) code = driver_.graph_upload(ready, stream_);  // else the first replay would pay for it
    if (code != cuda::success) return driver_.name_of(code);
    check(driver_.stream_synchronize(stream_));
    cuda::ready_graph_handle& kept = captures_[number];
    if (kept != nullptr) (void)driver_.ready_graph_destroy(kept);
    kept = ready;
    return nullptr;
  }
  bool replay(std::uint32_t number) override {
    const auto known = captures_.find(number);
    if (known == captures_.end()) return false;
    check(driver_.graph_launch(known->second, stream_));
    return true;
  }
  void forget_captures() override {
    for (const auto& [number, ready] : captures_) (void)driver_.ready_graph_destroy(ready);
    captures_.clear();
  }
  bool copy_in_stream(void* to, const void* from, std::size_t bytes) override {
    check(driver_.copy_on_device_async(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from), bytes, stream_));
    return true;
  }

 private:
  /// Set-up: failing here is nobody's kernel.
  void need(cuda::status code, const char* doing) const {
    if (code != cuda::success) give_up(wire::answer_kind::broken, std::string(doing) + ": " + driver_.name_of(code), code);
  }
  /// Work: failing here is the kernel's end.
  void check(cuda::status code) const {
    if (code != cuda::success) give_up(wire::answer_kind::device_failed, driver_.name_of(code), code);
  }

  cuda::driver driver_;
  int ordinal_;
  cuda::stream_handle stream_ = nullptr;
  cuda::event_handle first_ = nullptr, last_ = nullptr;
  cuda::device_address touched_ = 0, filled_ = 0;
  std::map<std::uint32_t, cuda::ready_graph_handle> captures_;
};

}  // namespace

std::unique_ptr<memory_space> cuda_memory(const char* driver, int ordinal) {
  return std::make_unique<device_memory>(driver, ordinal);
}

}  // namespace kernsmith::runner
