#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/cpp/workbench.hpp"
#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::int64_t least_elements = 16;  // fewer can be right by chance
constexpr double null_timeout_s = 600;
constexpr std::int64_t left_out_share = 8;  // of the output: the tail that a careless kernel forgets

/// What the reference wrote, in the output's own dtype.
void narrow(const problem& p, const kernel_buffers& wide, harness::expected_form form, kernel_buffers& to) {
  const std::vector<int> outputs = p.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const dtype type = p.tensors[static_cast<std::size_t>(outputs[o])].type;
    const auto count = static_cast<std::size_t>(element_count(to.set.outputs[o].shape));
    void* const into = to.outputs[o].data();
    const void* const from = wide.outputs[o].data();
    if (form == harness::expected_form::native) {
      std::memcpy(into, from, to.outputs[o].bytes());
    } else if (!is_float(type)) {
      for (std::size_t i = 0; i < count; ++i) store_from_int64(into, i, type, static_cast<const std::int64_t*>(from)[i]);
    } else if (type == dtype::f32) {
      for (std::size_t i = 0; i < count; ++i) static_cast<float*>(into)[i] = static_cast<float>(static_cast<const double*>(from)[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) store_from_double(into, i, type, static_cast<const double*>(from)[i]);
    }
  }
}

/// Every output at its own mean.
void flatten(const problem& p, kernel_buffers& buffers) {
  const std::vector<int> outputs = p.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const dtype type = p.tensors[static_cast<std::size_t>(outputs[o])].type;
    const auto count = static_cast<std::size_t>(element_count(buffers.set.outputs[o].shape));
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += load_as_double(buffers.outputs[o].data(), i, type);
    for (std::size_t i = 0; i < count; ++i) store_from_double(buffers.outputs[o].data(), i, type, sum / static_cast<double>(count));
  }
}

/// Copies inputs over outputs of the same type and size. False when some output has none.
bool copy_first_input(kernel_buffers& buffers) {
  for (std::size_t o = 0; o < buffers.outputs.size(); ++o) {
    bool found = false;
    for (std::size_t i = 0; i < buffers.inputs.size() && !found; ++i) {
      if (buffers.set.inputs[i].type != buffers.set.outputs[o].type || buffers.inputs[i].bytes() != buffers.outputs[o].bytes()) continue;
      std::memcpy(buffers.outputs[o].data(), buffers.inputs[i].data(), buffers.outputs[o].bytes());
      found = true;
    }
    if (!found) return false;
  }
  return true;
}

/// Is every output a moved or converted input, so that a copy may well be the answer?
bool only_moves_data(const problem& p) {
  for (const statement& s : p.statements) {
    const expression_kind kind = s.nodes[static_cast<std::size_t>(s.root)].kind;
    if (kind != expression_kind::load && kind != expression_kind::cast) return false;
  }
  return !p.statements.empty();
}

}  // namespace

result<void> check_null_candidates(workbench& bench) {
  const problem& p = bench.subject();
  workload_state* smallest = bench.workloads().front().get();
  for (const auto& w : bench.workloads()) {
    if (buffer_bytes(p, w->main.axes, output_form::native) < buffer_bytes(p, smallest->main.axes, output_form::native)) smallest = w.get();
  }
  const test_case& c = smallest->main;
  kernel_buffers& got = *smallest->timing.candidate.front();
  std::int64_t elements = 0;
  for (const harness::tensor_binding& b : got.set.outputs) elements += element_count(b.shape);
  if (elements < least_elements) return {};
  const auto passes = [&] {
    return check_outputs(p, c.specs, got, *c.oracle, c.form, harness::poison::not_a_number(), 1, bench.threads()).ok();
  };
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    return fail(fault::bad_request, fmt::format("{}: on {}, {} would pass as correct; {}", p.path.string(), c.what, what, remedy));
  };
  const std::string tighten = "tighten [compare] or choose inputs whose results differ more";

  for (harness::shared_buffer& b : got.outputs) std::memset(b.data(), 0, b.bytes());
  if (passes()) return refuse("a kernel that writes zeros", tighten);
  copy_inputs(*c.oracle, got);
  if (!only_moves_data(p) && copy_first_input(got) && passes()) return refuse("a kernel that copies its input", tighten);
  narrow(p, *c.oracle, c.form, got);
  flatten(p, got);
  if (passes()) return refuse("a kernel that writes the mean of the answer everywhere", tighten);

  narrow(p, *c.oracle, c.form, got);
  bool tail_is_zero = true;
  for (harness::shared_buffer& b : got.outputs) {
    const auto from = static_cast<std::ptrdiff_t>(b.bytes() - b.bytes() / left_out_share);
    tail_is_zero &= std::all_of(b.data() + from, b.data() + b.bytes(), [](std::byte v) { return v == std::byte{0}; });
    std::fill(b.data() + from, b.data() + b.bytes(), std::byte{0});
  }
  if (!tail_is_zero && passes()) return refuse("a kernel that leaves the last eighth of its output at zero", tighten);

  auto other = bench.reference_set(*smallest);
  if (!other) return tl::unexpected(other.error());
  const std::vector<int> inputs = p.inputs();
  bool differs = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t seed = derive_seed(bench.options().seed + 1, p.tensors[static_cast<std::size_t>(inputs[i])].name);
    if (auto filled = fill_input(p, inputs[i], c.axes, seed, content::as_declared, (*other)->inputs[i].data()); !filled) return filled;
    differs |= !harness::same_bytes((*other)->inputs[i].data(), c.oracle->inputs[i].data(), c.oracle->inputs[i].bytes(), bench.threads());
  }
  if (!differs) return {};  // constant inputs: there is no other answer
  auto process = bench.process_of(bench.reference());
  if (!process) return tl::unexpected(process.error());
  auto called = (*process)->call({*other}, null_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) {
    return fail(fault::bad_request, fmt::format("{}: the reference failed on {} with other contents", p.path.string(), c.what));
  }
  narrow(p, **other, c.form, got);
  if (passes()) return refuse("the answer for other input contents", "the output hardly depends on the inputs: " + tighten);
  return {};
}

}  // namespace kernsmith::cpp
