#include "config/edge_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "config/hash.hpp"
#include "config/random.hpp"
#include "config/value_ranges.hpp"

namespace kernsmith {

namespace {

using axis_set = std::vector<std::int64_t>;

/// Around the widths of vectors, tiles and cache lines, and primes that no tile divides.
constexpr std::array<std::int64_t, 24> telling = {1,  2,  3,  5,  7,  8,  9,   13,  15,  16,  17,  31,
                                                  32, 33, 63, 64, 65, 97, 100, 101, 127, 129, 255, 257};
constexpr std::array<std::int64_t, 6> small_primes = {5, 7, 3, 11, 13, 2};
constexpr std::array<std::int64_t, 8> tile_neighbours = {65, 63, 129, 33, 257, 127, 17, 1023};
constexpr int max_repairs = 32;
constexpr std::size_t max_halvings = 256;
constexpr std::uint64_t drawn_sets = 512;
constexpr std::uint64_t hidden_draws = 256;

double product(const std::vector<std::int64_t>& extents) {
  double result = 1;
  for (const std::int64_t extent : extents) result *= static_cast<double>(extent);
  return result;
}

bool is_small(const problem& p, const axis_set& axes) {
  for (const tensor_declaration& t : p.tensors)
    if (product(shape_of(t, axes)) > static_cast<double>(max_edge_elements)) return false;
  double operations = p.statements.empty() ? product(axes) : 0;
  for (const statement& s : p.statements) {
    double bodies = 1;
    for (const index_variable& v : s.variables) bodies *= static_cast<double>(extent_of(v.extent, axes));
    operations += bodies;
  }
  return operations <= static_cast<double>(max_edge_operations);
}

/// Grows axes until every affine load fits (H to P + R - 1 in a convolution). False when a load can't be made to fit by that.
bool grow_to_fit(const problem& p, axis_set& axes) {
  for (int round = 0; round < max_repairs; ++round) {
    const value_ranges ranges(p, axes);
    bool grown = false;
    for (const statement& s : p.statements) {
      for (const expression& e : s.nodes) {
        if (e.kind != expression_kind::load) continue;
        const tensor_declaration& t = p.tensors[static_cast<std::size_t>(e.symbol)];
        if (t.pad) continue;
        for (std::size_t d = 0; d < e.indices.size() && !grown; ++d) {
          if (!e.indices[d].is_affine) continue;
          const double last = ranges.of_position(s, e.indices[d]).high;
          if (last < static_cast<double>(extent_of(t.shape[d], axes))) continue;
          if (t.shape[d].axis < 0 || last >= static_cast<double>(max_edge_elements)) return false;
          axes[static_cast<std::size_t>(t.shape[d].axis)] = static_cast<std::int64_t>(last) + 1;
          grown = true;
        }
      }
    }
    if (!grown) return true;
  }
  return false;
}

class edge_collector {
 public:
  edge_collector(const problem& p, std::size_t limit) : p_(p), limit_(limit) {}

  [[nodiscard]] bool full() const { return found_.size() >= limit_; }

  void offer(axis_set axes) {
    if (full() || !grow_to_fit(p_, axes) || !is_small(p_, axes) || !check_axes(p_, axes)) return;
    const auto same = [&](const workload& w) { return w.axes == axes; };
    if (std::any_of(p_.workloads.begin(), p_.workloads.end(), same)) return;
    if (std::find(found_.begin(), found_.end(), axes) == found_.end()) found_.push_back(std::move(axes));
  }

  std::vector<axis_set> take() { return std::move(found_); }

 private:
  const problem& p_;
  std::size_t limit_;
  std::vector<axis_set> found_;
};

axis_set primes(std::size_t count, std::size_t shift) {
  axis_set axes(count);
  for (std::size_t i = 0; i < count; ++i) axes[i] = small_primes[(i + shift) % small_primes.size()];
  return axes;
}

axis_set drawn(std::size_t count, std::uint64_t draw) {
  axis_set axes(count);
  for (std::size_t i = 0; i < count; ++i) axes[i] = telling[scale_to(random_half(draw, i), telling.size())];
  return axes;
}

/// Every axis at its largest workload: the bound of hidden shapes.
axis_set largest_axes(const problem& p) {
  axis_set largest(p.axes.size(), 1);
  for (const workload& w : p.workloads)
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], w.axes[i]);
  return largest;
}

}  // namespace

std::vector<std::vector<std::int64_t>> edge_axes(const problem& p, std::size_t limit) {
  const std::size_t count = p.axes.size();
  edge_collector collector(p, limit);
  if (count == 0) return {};
  collector.offer(axis_set(count, 1));
  collector.offer(primes(count, 0));
  std::uint64_t draw = 0;
  // One axis at a time, by turns past a tile and at 1, with odd company; a drawn mix after each, so that a short list has some of
  // everything.
  for (std::size_t i = 0; i < count && !collector.full(); ++i) {
    axis_set long_axis = primes(count, i + 1);
    long_axis[i] = tile_neighbours[i % tile_neighbours.size()];
    collector.offer(std::move(long_axis));
    collector.offer(drawn(count, draw++));
    axis_set unit_axis = primes(count, i + 2);
    unit_axis[i] = 1;
    collector.offer(std::move(unit_axis));
  }
  for (const std::int64_t extent : tile_neighbours) collector.offer(axis_set(count, extent));
  while (draw < drawn_sets && !collector.full()) collector.offer(drawn(count, draw++));
  return collector.take();
}

std::vector<std::int64_t> hidden_axes(const problem& p, std::uint64_t seed) {
  const axis_set largest = largest_axes(p);
  for (std::uint64_t draw = 0; draw < hidden_draws; ++draw) {
    const std::uint64_t stream = random_bits(derive_seed(seed, "hidden axes"), draw);
    axis_set axes(largest.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double extent =
          std::pow(static_cast<double>(largest[i]), unit_interval(random_half(stream, i)));  // log-uniform: small ones as likely as large
      axes[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::lround(extent)), 1, largest[i]);
    }
    bool fits = grow_to_fit(p, axes);
    // Halving the longest alone could go on for ever: loads may need it to grow back. So each axis has its turn, too.
    for (std::size_t step = 0; fits && step < max_halvings && !is_small(p, axes); ++step) {
      std::int64_t& extent = step % 2 == 0 ? *std::max_element(axes.begin(), axes.end()) : axes[(step / 2) % axes.size()];
      extent = (extent + 1) / 2;
      fits = grow_to_fit(p, axes);
    }
    if (fits && is_small(p, axes) && check_axes(p, axes)) return axes;
  }
  const auto edges = edge_axes(p, 1);
  return edges.empty() ? p.workloads.front().axes : edges.front();
}

}  // namespace kernsmith
