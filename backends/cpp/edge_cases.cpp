#include "backends/cpp/edge_cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/edge_shapes.hpp"
#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::size_t max_edge_shapes = 10;
/// A baseline this many budgets off shows that the contents, not the kernels, are at fault.
constexpr double hopeless_error = 50;
/// Beyond the workloads, a candidate may be off by this multiple of what the problem's own baseline is, if that is more than the budget.
constexpr double baseline_multiple = 4;

}  // namespace

result<edge_case*> edge_cases::add(std::vector<std::unique_ptr<edge_case>>& to, std::string what, const std::vector<std::int64_t>& axes,
                                   content kind, std::uint64_t seed, bool with_rare_large) {
  auto made = std::make_unique<edge_case>();
  auto c = bench_.make_case(std::move(what), axes, kind, seed, with_rare_large);
  if (!c) return tl::unexpected(c.error());
  made->c = std::move(*c);
  const harness::guard_side side = made_++ % 2 == 0 ? harness::guard_side::before : harness::guard_side::after;
  auto buffers = make_buffers(bench_.subject(), axes, side, output_form::native);
  if (!buffers) return tl::unexpected(buffers.error());
  made->buffers = std::move(*buffers);
  auto error = bench_.baseline_error(bench_.baselines().front(), made->c, *made->buffers);
  if (!error) return tl::unexpected(error.error());
  if (*error > hopeless_error) {
    left_out_.push_back(std::move(made));
    return nullptr;
  }
  made->c.budget_scale = std::max(1.0, baseline_multiple * *error);
  to.push_back(std::move(made));
  return to.back().get();
}

result<std::vector<edge_case*>> edge_cases::shapes(std::size_t count) {
  if (!proposed_known_) {
    proposed_ = edge_axes(bench_.subject(), max_edge_shapes);
    proposed_known_ = true;
  }
  while (shapes_made_ < proposed_.size() && shapes_.size() < count) {
    const std::vector<std::int64_t>& axes = proposed_[shapes_made_++];
    const std::uint64_t seed = derive_seed(bench_.options().seed, fmt::format("edge {}", shapes_made_));
    auto added = add(shapes_, fmt::format("edge shape {}", axes_text(bench_.subject(), axes)), axes, content::as_declared, seed);
    if (!added) return tl::unexpected(added.error());
  }
  std::vector<edge_case*> list;
  for (std::size_t i = 0; i < shapes_.size() && i < count; ++i) list.push_back(shapes_[i].get());
  return list;
}

result<std::vector<edge_case*>> edge_cases::contents() {
  if (!contents_made_) {
    contents_made_ = true;
    const std::vector<std::int64_t> axes = hidden_axes(bench_.subject(), derive_seed(bench_.options().seed, "contents"));
    for (const content kind : applicable_contents(bench_.subject())) {
      if (kind == content::as_declared) continue;
      const std::string what = fmt::format("contents '{}' on {}", name_of(kind), axes_text(bench_.subject(), axes));
      auto added = add(contents_, what, axes, kind, derive_seed(bench_.options().seed, name_of(kind)));
      if (!added) return tl::unexpected(added.error());
      if (kind != content::large_magnitude) continue;
      // A kernel that looks at a few elements and takes the rest for as harmless sees nothing of these.
      auto rare = add(contents_, fmt::format("rare large values on {}", axes_text(bench_.subject(), axes)), axes, content::as_declared,
                      derive_seed(bench_.options().seed, "rare large values"), true);
      if (!rare) return tl::unexpected(rare.error());
    }
  }
  std::vector<edge_case*> list;
  for (const auto& made : contents_) list.push_back(made.get());
  return list;
}

result<edge_case*> edge_cases::shrunk(const std::vector<std::int64_t>& axes) {
  for (const auto* list : {&shrunk_, &left_out_}) {
    for (const auto& made : *list) {
      if (made->c.axes == axes && made->c.kind == content::as_declared) return list == &shrunk_ ? made.get() : nullptr;
    }
  }
  return add(shrunk_, fmt::format("a workload made smaller, {}", axes_text(bench_.subject(), axes)), axes, content::as_declared,
             derive_seed(bench_.options().seed, axes_text(bench_.subject(), axes)));
}

result<edge_case*> edge_cases::hidden(std::uint64_t seed) {
  const std::vector<std::int64_t> axes = hidden_axes(bench_.subject(), seed);
  return add(hidden_, fmt::format("hidden shape {}", axes_text(bench_.subject(), axes)), axes, content::as_declared, seed);
}

}  // namespace kernsmith::cpp
