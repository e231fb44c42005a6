// Answers that compute nothing must fail, or the problem measures nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cuda/workbench.hpp"
#include "config/hash.hpp"

namespace kernsmith::cuda {

namespace {

constexpr std::int64_t least_elements = 16;  // fewer can be right by chance
constexpr std::size_t left_out_share = 8;    // of the output: the tail that a careless kernel forgets
constexpr std::size_t most_mean_bytes = std::size_t{64} << 20;
constexpr double null_timeout_s = 60;

/// Is every output a moved or converted input, so that a copy may well be the answer?
bool only_moves_data(const problem& p) {
  return !p.statements.empty() && std::all_of(p.statements.begin(), p.statements.end(), [](const statement& s) {
    const expression_kind kind = s.nodes[static_cast<std::size_t>(s.root)].kind;
    return kind == expression_kind::load || kind == expression_kind::cast;
  });
}

class null_trials {
 public:
  null_trials(workbench& bench, workload_state& w) : bench_(bench), p_(bench.subject()), w_(w), got_(*w.verified) {}
  result<void> run();

 private:
  [[nodiscard]] result<void> must_fail(const std::string& what, const std::string& remedy);
  [[nodiscard]] result<void> answer_into(device_buffers& set);
  [[nodiscard]] result<bool> copy_first_input();
  [[nodiscard]] result<void> flatten();
  [[nodiscard]] result<bool> clear_tail();
  [[nodiscard]] result<bool> answer_others();

  workbench& bench_;
  const problem& p_;
  workload_state& w_;
  device_buffers& got_;
};

result<void> null_trials::must_fail(const std::string& what, const std::string& remedy) {
  auto check = bench_.judging().outputs(w_.main.specs, got_, *w_.main.oracle, w_.main.form, harness::poison::not_a_number(), 1);
  if (!check) return tl::unexpected(check.error());
  if (!check->ok()) return {};
  return fail(fault::bad_request, fmt::format("{}: on {}, {} would pass as correct; {}", p_.path.string(), w_.main.what, what, remedy));
}

/// The first baseline's answer for the inputs that `set` holds.
result<void> null_trials::answer_into(device_buffers& set) {
  auto process = bench_.process_of(bench_.baselines().front());
  if (!process) return tl::unexpected(process.error());
  if (auto waited = bench_.on()->wait(); !waited) return waited;
  auto called = (*process)->call({&set}, null_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok)
    return fail(fault::bad_request, fmt::format("{}: the first baseline failed on {}: {}", p_.path.string(), w_.main.what, called->detail));
  return {};
}

/// False when some output has no input of its type and size.
result<bool> null_trials::copy_first_input() {
  for (std::size_t o = 0; o < got_.outputs.size(); ++o) {
    bool found = false;
    for (std::size_t i = 0; i < got_.inputs.size() && !found; ++i) {
      if (got_.set.inputs[i].type != got_.set.outputs[o].type || got_.inputs[i].bytes != got_.outputs[o].bytes) continue;
      if (auto ok = bench_.trusted().copy(got_.outputs[o].address, w_.main.oracle->inputs[i].address, got_.outputs[o].bytes); !ok)
        return tl::unexpected(ok.error());
      found = true;
    }
    if (!found) return false;
  }
  return true;
}

/// Every output at its own mean (of its beginning, where it is large).
result<void> null_trials::flatten() {
  const device& on = *bench_.on();
  for (std::size_t o = 0; o < got_.outputs.size(); ++o) {
    const dtype type = got_.set.outputs[o].type;
    const std::size_t size = size_of(type), bytes = std::min(got_.outputs[o].bytes, most_mean_bytes) / size * size, count = bytes / size;
    std::vector<std::byte> host(bytes);
    if (auto ok = on.check(on.api().copy_to_host(host.data(), got_.outputs[o].address, bytes), "reading an output"); !ok) return ok;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += load_as_double(host.data(), i, type);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sizeof word / size; ++i) store_from_double(&word, i, type, sum / static_cast<double>(count));
    if (auto ok = bench_.trusted().fill(got_.outputs[o].address, got_.outputs[o].bytes, word); !ok) return ok;
  }
  return {};
}

/// False when the tails were zero before.
result<bool> null_trials::clear_tail() {
  bool changed = false;
  for (const device_tensor& t : got_.outputs) {
    const std::size_t from = (t.bytes - t.bytes / left_out_share) / 8 * 8, bytes = t.bytes - from;
    std::vector<std::byte> head(std::min<std::size_t>(bytes, 4096));
    const device& on = *bench_.on();
    if (auto ok = on.check(on.api().copy_to_host(head.data(), t.address + from, head.size()), "reading an output"); !ok)
      return tl::unexpected(ok.error());
    changed |= std::any_of(head.begin(), head.end(), [](std::byte b) { return b != std::byte{0}; });
    if (auto ok = bench_.trusted().fill(t.address + from, bytes, 0); !ok) return tl::unexpected(ok.error());
  }
  return changed;
}

/// False when there are no other contents: constants.
result<bool> null_trials::answer_others() {
  const std::vector<int> inputs = p_.inputs();
  std::vector<byte_pair> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t seed = derive_seed(bench_.options().seed + 1, p_.tensors[static_cast<std::size_t>(inputs[i])].name);
    std::vector<std::byte> host(got_.inputs[i].bytes);
    if (auto filled = fill_input(p_, inputs[i], w_.main.axes, seed, content::as_declared, host.data()); !filled)
      return tl::unexpected(filled.error());
    const device& on = *bench_.on();
    if (auto ok = on.check(on.api().copy_to_device(got_.inputs[i].address, host.data(), host.size()), "copying contents"); !ok)
      return tl::unexpected(ok.error());
    pairs.push_back({got_.inputs[i].address, w_.main.oracle->inputs[i].address, host.size()});
  }
  auto same = bench_.trusted().same(pairs);
  if (!same) return tl::unexpected(same.error());
  if (std::all_of(same->begin(), same->end(), [](bool equal) { return equal; })) return false;
  if (auto answered = answer_into(got_); !answered) return tl::unexpected(answered.error());
  return true;
}

result<void> null_trials::run() {
  const std::string tighten = "tighten [compare] or choose inputs whose results differ more";
  for (const device_tensor& t : got_.outputs) {
    if (auto ok = bench_.trusted().fill(t.address, t.bytes, 0); !ok) return ok;
  }
  if (auto failed = must_fail("a kernel that writes zeros", tighten); !failed) return failed;
  if (!only_moves_data(p_)) {
    auto copied = copy_first_input();
    if (!copied) return tl::unexpected(copied.error());
    if (*copied) {
      if (auto failed = must_fail("a kernel that copies its input", tighten); !failed) return failed;
    }
  }
  if (auto ready = bench_.judging().prepare(*w_.main.oracle, got_, harness::poison::not_a_number()); !ready) return ready;
  if (auto answered = answer_into(got_); !answered) return answered;
  if (auto flat = flatten(); !flat) return flat;
  if (auto failed = must_fail("a kernel that writes the mean of the answer everywhere", tighten); !failed) return failed;
  if (auto answered = answer_into(got_); !answered) return answered;
  auto cleared = clear_tail();
  if (!cleared) return tl::unexpected(cleared.error());
  if (*cleared) {
    if (auto failed = must_fail("a kernel that leaves the last eighth of its output at zero", tighten); !failed) return failed;
  }
  auto others = answer_others();
  if (!others) return tl::unexpected(others.error());
  if (!*others) return {};
  return must_fail("the answer for other input contents", "the output hardly depends on the inputs: " + tighten);
}

}  // namespace

result<void> check_null_candidates(workbench& bench) {
  const problem& p = bench.subject();
  workload_state* smallest = bench.workloads().front().get();
  for (const auto& w : bench.workloads()) {
    if (cpp::buffer_bytes(p, w->main.axes, output_form::native) < cpp::buffer_bytes(p, smallest->main.axes, output_form::native))
      smallest = w.get();
  }
  std::int64_t elements = 0;
  for (const harness::tensor_binding& b : smallest->verified->set.outputs) elements += element_count(b.shape);
  if (elements < least_elements) return {};
  return null_trials(bench, *smallest).run();
}

}  // namespace kernsmith::cuda
