#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "backends/harness/guarded_mapping.hpp"
#include "backends/harness/runner/channel.hpp"
#include "backends/harness/runner/fences.hpp"
#include "backends/harness/runner/memory_space.hpp"

namespace kernsmith::runner {

namespace {

class host final : public memory_space {
 public:
  std::uint64_t map(int descriptor, const wire::map_body& what) override {
    void* const mapped = harness::map_between_guards(descriptor, what.file_bytes);
    if (mapped == nullptr) give_up(wire::answer_kind::broken, std::string("mapping a buffer: ") + std::strerror(errno));
    ::close(descriptor);
    auto* const start = static_cast<std::byte*>(mapped);
    fence(start, what.file_bytes, start + what.data_offset, what.data_bytes);
    return reinterpret_cast<std::uint64_t>(mapped);
  }
  void unmap(std::uint64_t start, std::size_t bytes) override {
    auto* const mapped = reinterpret_cast<std::byte*>(start);
    remove_fence(mapped, bytes);
    harness::unmap_with_guards(mapped, bytes);
  }
  void prepare(ks_launch& context) override {
    if (context.workspace_bytes == 0) return;
    // Guarded like the buffers.
    const std::size_t mapped_bytes = (context.workspace_bytes + 4095) / 4096 * 4096;
    void* const workspace = harness::map_between_guards(-1, mapped_bytes);
    if (workspace == nullptr) give_up(wire::answer_kind::broken, std::string("making the workspace: ") + std::strerror(errno));
    context.workspace = workspace;
  }
};

}  // namespace

std::unique_ptr<memory_space> host_memory() {
  return std::make_unique<host>();
}

}  // namespace kernsmith::runner
