// Kernels that keep rows in shared memory, whole rows on their way there at once while no register waits for them. Each thread reads only
// what it brought itself: no barrier stands between.
#include <algorithm>

#include "agents/synthesis/simt/row_simt_inner.hpp"

namespace kernsmith::agents::simt {
namespace {

constexpr std::int64_t resident_threads = 1024;
/// What a block takes of a multiprocessor's shared memory beside its own.
constexpr std::int64_t overhead_bytes = 2048;

}  // namespace

std::int64_t inner_writer::shared_bytes(const configuration& c) const {
  return c.keep == keeping::shared ? c.threads * c.items * choice_.vector * traffic_along(p_, lane_).kept_bytes_per_element : 0;
}

std::int64_t inner_writer::resident(const configuration& c) const {
  const std::int64_t by_memory = (model_.shared_bytes_per_block + overhead_bytes / 2) / (shared_bytes(c) + overhead_bytes);
  return std::clamp<std::int64_t>(std::min(by_memory, resident_threads / c.threads), 1, 16);
}

std::string inner_writer::blocks_side_by_side(body b, const std::string& threads) const {
  // Where a thread keeps little, registers are bounded so that 1024 threads run side by side: others then load while some wait.
  const std::string blocks = in_shared(b) ? "kResident"
                                          : fmt::format("kThreads >= 256 && kItems * kVector * {} <= 128 ? 1024 / kThreads : 1",
                                                        traffic_along(p_, lane_).kept_bytes_per_element);
  return model_.language == dialect::hip ? fmt::format("ks_resident({}, {})", threads, blocks) : blocks;
}

void inner_writer::bring_row(const std::vector<pack>& held) {
  out_.line("KS_DYNAMIC_SHARED(shared);");
  std::string offset = "0";
  for (const pack& k : held) {
    const std::string type = pack_type(type_of(k));
    out_.line(fmt::format("{0}* const {1}s = reinterpret_cast<{0}*>(shared + {2}) + threadIdx.x;", type, k.name, offset));
    offset += fmt::format(" + sizeof({}) * kItems * kThreads", type);
  }
  out_.line("#pragma unroll 4");
  out_.open("for (int item = 0; item < kItems; ++item)");
  out_.line(fmt::format("const ks_ix {} = {};", p_.class_name(lane_), first_text(body::kept)));
  for (const pack& k : held)
    out_.line(fmt::format("ks_fetch_ahead<kVector, kEdge>({}s + item * kThreads, &{}, {}, ks_ix({}));", k.name, k.element,
                          p_.class_name(lane_), extent_));
  out_.close();
  out_.line("ks_wait_ahead();");
}

void inner_writer::take_out(const lane_code& code, const std::vector<int>& statements, const std::vector<pack>& held) {
  const std::vector<pack> used = packs_of(code, statements);
  for (const pack& k : held)
    if (std::any_of(used.begin(), used.end(), [&](const pack& u) { return u.element == k.element; }))
      out_.line(fmt::format("const {0} {1} = {1}s[item * kThreads];", pack_type(type_of(k)), k.name));
}

}  // namespace kernsmith::agents::simt
