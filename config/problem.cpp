#include "config/problem.hpp"

#include <fmt/format.h>

#include <map>

namespace kernsmith {

namespace {

std::vector<int> tensors_of(const problem& p, tensor_role role) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < p.tensors.size(); ++i)
    if (p.tensors[i].role == role) ids.push_back(static_cast<int>(i));
  return ids;
}

}  // namespace

std::vector<int> problem::inputs() const {
  return tensors_of(*this, tensor_role::input);
}

std::vector<int> problem::outputs() const {
  return tensors_of(*this, tensor_role::output);
}

std::int64_t extent_of(const dim& d, const std::vector<std::int64_t>& axes) {
  return d.axis < 0 ? d.constant : axes[static_cast<std::size_t>(d.axis)];
}

std::vector<std::int64_t> shape_of(const tensor_declaration& tensor, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> shape;
  shape.reserve(tensor.shape.size());
  for (const dim& d : tensor.shape) shape.push_back(extent_of(d, axes));
  return shape;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

result<void> check_distinct(const std::vector<problem>& problems) {
  std::map<std::string, const problem*> first;
  for (const problem& p : problems) {
    const auto [entry, fresh] = first.emplace(p.name, &p);
    if (!fresh)
      return fail(fault::bad_request, fmt::format("{}: the problem is called '{}', as is the one in {}; give one of them another name",
                                                  p.path.string(), p.name, entry->second->path.string()));
  }
  return {};
}

}  // namespace kernsmith
