// How cases come by their contents and expected outputs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/cuda/workbench.hpp"
#include "config/edge_shapes.hpp"
#include "config/hash.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double reference_timeout_s = 120;
constexpr std::size_t max_edge_shapes = 10;
/// A baseline this many budgets off shows that the contents, not the kernels, are at fault.
constexpr double hopeless_error = 50;
/// Beyond the workloads, a candidate may be off by this multiple of what the problem's own baseline is, if that is more than the budget.
constexpr double baseline_multiple = 4;
constexpr double edge_timeout_s = 30;
/// Two runs of the reference may differ by this share of the budget; the host's and the device's by the budget itself, as their functions
/// round differently and what comes of it is compared with a candidate's own rounding.
constexpr double own_difference = 0.01;
constexpr std::int64_t rarity = 200;  // one element in so many is large

/// Some elements are taken from contents of large magnitude.
result<void> add_rare_large(const problem& p, int input, const std::vector<std::int64_t>& axes, std::uint64_t seed, std::byte* data,
                            std::size_t bytes) {
  const std::size_t size = size_of(p.tensors[static_cast<std::size_t>(input)].type);
  std::vector<std::byte> large(bytes);
  if (auto filled = fill_input(p, input, axes, seed, content::large_magnitude, large.data()); !filled) return filled;
  std::mt19937_64 engine(seed);
  for (std::size_t at = 0; at < bytes; at += size) {
    if (engine() % rarity == 0) std::memcpy(data + at, large.data() + at, size);
  }
  return {};
}

}  // namespace

/// On the host, into `host` where there is one, and from there to the device.
result<void> workbench::fill_inputs(test_case& c, cpp::kernel_buffers* host, bool with_rare_large) {
  const std::vector<int> inputs = problem_.inputs();
  std::vector<std::byte> held;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t bytes = c.oracle->inputs[i].bytes;
    if (host == nullptr) held.resize(bytes);
    std::byte* const data = host != nullptr ? host->inputs[i].data() : held.data();
    const std::uint64_t own = derive_seed(c.seed, problem_.tensors[static_cast<std::size_t>(inputs[i])].name);
    if (auto filled = fill_input(problem_, inputs[i], c.axes, own, c.kind, data); !filled) return filled;
    if (with_rare_large) {
      if (auto filled = add_rare_large(problem_, inputs[i], c.axes, own, data, bytes); !filled) return filled;
    }
    if (auto ok = device_->check(device_->api().copy_to_device(c.oracle->inputs[i].address, data, bytes), "copying contents"); !ok)
      return ok;
  }
  return {};
}

result<void> workbench::compute_on_host(test_case& c, cpp::kernel_buffers& host) {
  if (auto done = host_reference_->compute(host); !done) return done;
  for (std::size_t o = 0; o < host.outputs.size(); ++o) {
    const auto copied = device_->api().copy_to_device(c.oracle->outputs[o].address, host.outputs[o].data(), host.outputs[o].bytes());
    if (auto ok = device_->check(copied, "copying expected outputs"); !ok) return ok;
  }
  return {};
}

result<void> workbench::compute_on_device(const std::string& what, device_buffers& set, double* wall_ns) {
  auto process = process_of(*reference_);
  if (!process) return tl::unexpected(process.error());
  if (auto touched = (*process)->touch(reference_timeout_s); !touched) return tl::unexpected(touched.error());
  auto called = (*process)->call({&set}, reference_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) {
    return fail(called->status == harness::call_status::resource_limit ? fault::infrastructure : fault::bug,
                fmt::format("the reference on the device failed on {} ({}): {}", what, outcome_of(called->status), called->detail));
  }
  if (wall_ns != nullptr) *wall_ns = called->wall_ns;
  return {};
}

/// The device's reference against the host's on one small case.
result<std::string> workbench::hold_references_together(const test_case& c) {
  auto own = make_device_buffers(device_, problem_, c.axes, harness::guard_side::after, output_form::wide);
  if (!own) return tl::unexpected(own.error());
  if (auto ready = judging().prepare(*c.oracle, **own, harness::poison::not_a_number()); !ready) return tl::unexpected(ready.error());
  if (auto done = compute_on_device(c.what, **own); !done) return tl::unexpected(done.error());
  std::vector<comparison_request> requests;
  const std::vector<int> outputs = problem_.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const dtype type = problem_.tensors[static_cast<std::size_t>(outputs[o])].type;
    compare_spec spec = c.specs[o];
    if (is_float(type) && (spec.mode == compare_mode::bitwise || spec.mode == compare_mode::ulp)) {
      spec.rtol = 2 * std::max(spec.ulp, 1.0) * unit_roundoff(type);
      spec.atol = smallest_normal(type);
      spec.mode = compare_mode::allclose;
    }
    requests.push_back({spec, is_float(type) ? dtype::f64 : dtype::i64, (*own)->outputs[o].address, c.oracle->outputs[o].address,
                        harness::expected_form::native, element_count((*own)->set.outputs[o].shape), 1});
  }
  auto verdicts = trusted_->compare(requests);
  if (!verdicts) return tl::unexpected(verdicts.error());
  auto forgotten = reference_->process->forget_sets();
  if (!forgotten) return tl::unexpected(forgotten.error());
  for (const harness::comparison& v : *verdicts) {
    if (v.match) continue;
    return fmt::format("the references on host and device disagree on {}: element {}: device {:.17g}, host {:.17g}, {} elements", c.what,
                       v.first_failure, v.got, v.expected, v.failures);
  }
  return std::string();
}

result<test_case> workbench::make_case(std::string what, const std::vector<std::int64_t>& axes, content kind, std::uint64_t seed,
                                       bool small, bool with_rare_large) {
  test_case c;
  c.what = std::move(what);
  c.axes = axes;
  c.kind = kind;
  c.seed = seed;
  const bool on_host = small || !reference_;
  const output_form form = on_host ? host_reference_->form() : reference_->form;
  c.form = form == output_form::wide ? harness::expected_form::wide : harness::expected_form::native;
  auto oracle = make_device_buffers(device_, problem_, axes, harness::guard_side::after, form);
  if (!oracle) return tl::unexpected(oracle.error());
  c.oracle = std::move(*oracle);
  for (const int output : problem_.outputs()) c.specs.push_back(compare_for(problem_, output, axes));
  if (!on_host) {
    if (auto filled = fill_inputs(c, nullptr, with_rare_large); !filled) return tl::unexpected(filled.error());
    if (auto done = compute_on_device(c.what, *c.oracle); !done) return tl::unexpected(done.error());
    return c;
  }
  auto host = host_reference_->buffers(axes);
  if (!host) return tl::unexpected(host.error());
  if (auto filled = fill_inputs(c, host->get(), with_rare_large); !filled) return tl::unexpected(filled.error());
  if (auto done = compute_on_host(c, **host); !done) return tl::unexpected(done.error());
  if (reference_) {
    auto difference = hold_references_together(c);
    if (!difference) return tl::unexpected(difference.error());
    c.doubtful = !difference->empty();
    // On contents that hurt, how functions round may decide between numbers far apart; there the case is no measure of kernels.
    if (c.doubtful && kind == content::as_declared && !with_rare_large) return fail(fault::bug, *difference);
  }
  return c;
}

result<void> workbench::check_reference_against_itself(workload_state& w) {
  if (!reference_) return {};  // the host's has been run by others before
  auto again = reference_set(w);
  if (!again) return tl::unexpected(again.error());
  if (auto ready = judging().prepare(*w.main.oracle, **again, harness::poison::finite(options_.seed)); !ready) return ready;
  if (auto done = compute_on_device(w.main.what, **again, &w.reference_ns); !done) return done;
  std::vector<comparison_request> requests;
  const std::vector<int> outputs = problem_.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const bool real = is_float(problem_.tensors[static_cast<std::size_t>(outputs[o])].type);
    compare_spec spec;
    spec.mode = compare_mode::allclose;
    spec.rtol = own_difference * (w.main.specs[o].mode == compare_mode::allclose ? w.main.specs[o].rtol : 1e-12);
    spec.atol = own_difference * (w.main.specs[o].mode == compare_mode::allclose ? w.main.specs[o].atol : 1e-12);
    requests.push_back({spec, real ? dtype::f64 : dtype::i64, (*again)->outputs[o].address, w.main.oracle->outputs[o].address,
                        harness::expected_form::native, element_count((*again)->set.outputs[o].shape), 1});
  }
  auto verdicts = trusted_->compare(requests);
  if (!verdicts) return tl::unexpected(verdicts.error());
  for (std::size_t o = 0; o < verdicts->size(); ++o) {
    if ((*verdicts)[o].match) continue;
    return fail(fault::bug, fmt::format("the reference on the device disagrees with itself on {}: output '{}'", w.main.what,
                                        problem_.tensors[static_cast<std::size_t>(outputs[o])].name));
  }
  return {};
}

result<double> workbench::baseline_error(const test_case& c, device_buffers& buffers) {
  auto process = process_of(baselines_.front());
  if (!process) return tl::unexpected(process.error());
  auto check = judging().kernel(c, **process, buffers, harness::poison::not_a_number(), edge_timeout_s);
  if (!check) return tl::unexpected(check.error());
  const bool has_values = check->ok() || check->outcome == "wrong_values" || check->outcome == "precision_broken";
  return has_values ? check->max_error : harness::max_reported_error;
}

result<edge_case*> workbench::add_edge(std::vector<std::unique_ptr<edge_case>>& to, std::string what, const std::vector<std::int64_t>& axes,
                                       content kind, std::uint64_t seed, bool with_rare_large) {
  auto made = std::make_unique<edge_case>();
  auto c = make_case(std::move(what), axes, kind, seed, true, with_rare_large);
  if (!c) return tl::unexpected(c.error());
  made->c = std::move(*c);
  const harness::guard_side side = edges_made_++ % 2 == 0 ? harness::guard_side::before : harness::guard_side::after;
  auto buffers = make_device_buffers(device_, problem_, axes, side, output_form::native);
  if (!buffers) return tl::unexpected(buffers.error());
  made->buffers = std::move(*buffers);
  auto error = baseline_error(made->c, *made->buffers);
  if (!error) return tl::unexpected(error.error());
  if (*error > hopeless_error || made->c.doubtful) {
    left_out_.push_back(std::move(made));
    return nullptr;
  }
  made->c.budget_scale = std::max(1.0, baseline_multiple * *error);
  to.push_back(std::move(made));
  return to.back().get();
}

result<std::vector<edge_case*>> workbench::edge_shapes(std::size_t count) {
  if (!proposed_known_) {
    proposed_ = edge_axes(problem_, max_edge_shapes);
    proposed_known_ = true;
  }
  while (shapes_made_ < proposed_.size() && shapes_.size() < count) {
    const std::vector<std::int64_t>& axes = proposed_[shapes_made_++];
    const std::uint64_t seed = derive_seed(options_.seed, fmt::format("edge {}", shapes_made_));
    auto added = add_edge(shapes_, fmt::format("edge shape {}", axes_text(problem_, axes)), axes, content::as_declared, seed);
    if (!added) return tl::unexpected(added.error());
  }
  std::vector<edge_case*> list;
  for (std::size_t i = 0; i < shapes_.size() && i < count; ++i) list.push_back(shapes_[i].get());
  return list;
}

result<std::vector<edge_case*>> workbench::hard_contents() {
  if (!contents_made_) {
    contents_made_ = true;
    const std::vector<std::int64_t> axes = hidden_axes(problem_, derive_seed(options_.seed, "contents"));
    for (const content kind : applicable_contents(problem_)) {
      if (kind == content::as_declared) continue;
      auto added = add_edge(contents_, fmt::format("contents '{}' on {}", name_of(kind), axes_text(problem_, axes)), axes, kind,
                            derive_seed(options_.seed, name_of(kind)));
      if (!added) return tl::unexpected(added.error());
      if (kind != content::large_magnitude) continue;
      // A kernel that looks at a few elements and takes the rest for as harmless sees nothing of these.
      auto rare = add_edge(contents_, fmt::format("rare large values on {}", axes_text(problem_, axes)), axes, content::as_declared,
                           derive_seed(options_.seed, "rare large values"), true);
      if (!rare) return tl::unexpected(rare.error());
    }
  }
  std::vector<edge_case*> list;
  for (const auto& made : contents_) list.push_back(made.get());
  return list;
}

result<edge_case*> workbench::hidden_shape(std::uint64_t seed) {
  const std::vector<std::int64_t> axes = hidden_axes(problem_, seed);
  return add_edge(hidden_, fmt::format("hidden shape {}", axes_text(problem_, axes)), axes, content::as_declared, seed);
}

}  // namespace kernsmith::cuda
