// Maps of transposed inputs: what is contiguous along another index than the results is read along it, by tiles, and turned in shared
// memory.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

class tile_writer {
 public:
  tile_writer(const simt_program& p, const across_choice& choice, int lane, int tile)
      : p_(p), choice_(choice), lane_(lane), tile_(tile), code_(p), name_(p.rows.name) {
    extent_ = p.class_extent(lane);
    other_extent_ = p.class_extent(tile);
    for (const int c : p.rows.parallel)
      if (c != lane && c != tile) outer_.push_back(c);
  }

  tile_code run() {
    find_loads();
    kernel();
    return {out_.text(), start()};
  }

 private:
  struct load {
    std::string name, element;
    dtype type = dtype::f32;
    std::vector<std::pair<int, int>> nodes;  ///< (statement, node)
  };

  void find_loads() {
    for (int i = 0; i < p_.count(); ++i)
      for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
        const int node = static_cast<int>(n);
        if (is_packed(p_, i, node, lane_))
          add(straight_, i, node, "_in");
        else if (is_packed(p_, i, node, tile_) && row::access_of(p_.rows, p_.at(i), p_.at(i).nodes[n], lane_) == row::access::strided)
          add(turned_, i, node, "_tile");
      }
  }

  void add(std::vector<load>& list, int i, int node, const char* suffix) {
    const std::string element = code_.element(i, node);
    for (load& k : list)
      if (k.element == element) {
        k.nodes.emplace_back(i, node);
        return;
      }
    const int tensor = p_.at(i).nodes[static_cast<std::size_t>(node)].symbol;
    list.push_back({fmt::format("{}{}{}", p_.stem(tensor), suffix, list.empty() ? "" : std::to_string(list.size())),
                    element,
                    p_.tensor(tensor).type,
                    {{i, node}}});
  }

  std::string row_name(int i) const { return p_.stem(p_.at(i).tensor) + "_row"; }
  std::string out_name(int i) const { return p_.stem(p_.at(i).tensor) + "_out"; }

  void kernel() {
    const std::string across = p_.class_name(tile_), along = p_.class_name(lane_);
    out_.line("// Tiles: read along one index, written along the other.");
    for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
    out_.line("template <class ks_ix, int kVector>");
    out_.open(fmt::format("__global__ void __launch_bounds__({}) {}_tile_kernel({})", choice_.threads, name_,
                          parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix")));
    out_.line(fmt::format("constexpr int kThreads = {}, kTile = {}, kPacks = kTile / kVector;", choice_.threads, choice_.tile));
    for (const load& k : turned_)
      out_.line(fmt::format("__shared__ {} {}[kTile][kTile + {}];  // padded: columns lie in different banks", simt_storage_type(k.type),
                            k.name, std::max<std::size_t>(1, 4 / size_of(k.type))));
    out_.line(fmt::format("const ks_ix {0}_start = ks_ix(blockIdx.x) * kTile, {1}_start = ks_ix(blockIdx.y) * kTile;", along, across));
    for (const std::string& line : unpack_classes(p_, outer_, "ks_ix(blockIdx.z)")) out_.line("[[maybe_unused]] " + line);
    read(along, across);
    out_.line("__syncthreads();");
    compute(along, across);
    out_.close();
    out_.line("");
  }

  void open_packs() {
    out_.line("#pragma unroll");
    out_.open("for (int at = int(threadIdx.x); at < kTile * kPacks; at += kThreads)");
    out_.line("const int left = at / kPacks, right = at % kPacks * kVector;");
  }

  void read(const std::string& along, const std::string& across) {
    open_packs();
    out_.line(fmt::format("const ks_ix {0} = {0}_start + left, {1} = {1}_start + right;", along, across));
    out_.line(fmt::format("if ({} >= {} || {} >= {}) continue;", along, extent_, across, other_extent_));
    for (const load& k : turned_) {
      out_.line(fmt::format("const auto {}_in = ks_load<kVector, {}>(&{});", k.name, choice_.stream_loads ? "true" : "false", k.element));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {0}[left][right + l] = {0}_in.at[l];", k.name));
    }
    out_.close();
  }

  void compute(const std::string& along, const std::string& across) {
    open_packs();
    out_.line(fmt::format("const ks_ix {0} = {0}_start + left, first = {1}_start + right;", across, along));
    out_.line(fmt::format("if (first >= {} || {} >= {}) continue;", extent_, across, other_extent_));
    for (const load& k : straight_) {
      out_.line(fmt::format("ks_pack<{}, kVector> {};", simt_storage_type(k.type), k.name));
      out_.open_scope();
      out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", along));
      out_.line(fmt::format("{} = ks_load<kVector, {}>(&{});", k.name, choice_.stream_loads ? "true" : "false", k.element));
      out_.close();
      for (const auto& [i, node] : k.nodes) code_.have(i, node, k.name + ".at[l]");
    }
    for (const load& k : turned_)
      for (const auto& [i, node] : k.nodes) code_.have(i, node, k.name + "[right + l][left]");
    for (int i = 0; i < p_.count(); ++i)
      if (packed_output(i))
        out_.line(fmt::format("ks_pack<{}, kVector> {};", simt_storage_type(p_.tensor(p_.at(i).tensor).type), out_name(i)));
    out_.line("#pragma unroll");
    out_.open("for (int l = 0; l < kVector; ++l)");
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first + l;", along));
    for (int i = 0; i < p_.count(); ++i) define(i);
    out_.close();
    out_.open_scope();
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", along));
    for (int i = 0; i < p_.count(); ++i)
      if (packed_output(i))
        out_.line(
            fmt::format("ks_store<kVector, {}>(&{}, {});", choice_.stream_stores ? "true" : "false", code_.target_element(i), out_name(i)));
    out_.close();
    out_.close();
  }

  bool packed_output(int i) const { return p_.at(i).stored && is_packed_target(p_, i, lane_); }

  void define(int i) {
    const row::row_statement& s = p_.at(i);
    out_.line(fmt::format("[[maybe_unused]] const {} {} = {};", code_.seen_type(i), row_name(i),
                          code_.seen(i, code_.value(i, s.value, s.type), s.type)));
    code_.know(i, row_name(i));
    if (!s.stored) return;
    const std::string element = code_.stored(i, row_name(i), class_of(p_.tensor(s.tensor).type));
    out_.line(packed_output(i) ? fmt::format("{}.at[l] = {};", out_name(i), element)
                               : fmt::format("{} = {};", code_.target_element(i), element));
  }

  std::string start() const {
    const std::string arguments = argument_text(p_.flat, kernel_parameters(p_));
    const auto launch = [&](std::int64_t vector) {
      return fmt::format("return ks_start({}_tile_kernel<int32_t, {}>, tile_grid, dim3({}), 0, ks_stream, {});\n", name_, vector,
                         choice_.threads, arguments);
    };
    std::string text =
        fmt::format("const int64_t tiles = ({0} + {1} - 1) / {1}, planes = {2};\n", other_extent_, choice_.tile, p_.product(outer_));
    text += "if (fits && tiles <= 65535 && planes <= 65535) {\n";
    text += fmt::format("  const dim3 tile_grid(unsigned(ks_blocks({}, {})), unsigned(tiles), unsigned(planes));\n", extent_, choice_.tile);
    if (choice_.vector > 1)
      text += fmt::format("  if ({0} % {2} == 0 && {1} % {2} == 0) {3}", extent_, other_extent_, choice_.vector, launch(choice_.vector));
    return text + "  " + launch(1) + "}\n";
  }

  const simt_program& p_;
  const across_choice& choice_;
  int lane_, tile_;
  lane_code code_;
  std::string name_, extent_, other_extent_;
  std::vector<int> outer_;
  std::vector<load> straight_, turned_;
  source_writer out_;
};

}  // namespace

std::optional<int> tile_class(const simt_program& p) {
  const std::optional<int> lane = across_lane(p);
  if (!lane || p.rows.search || !row::schedule(p.rows, row::plan_with(row::lanes::across)).sweeps.empty()) return std::nullopt;
  constexpr std::int64_t shortest = 16;  // shorter rows waste most of a tile
  for (int i = 0; i < p.count(); ++i)
    for (std::size_t n = 0; n < p.at(i).nodes.size(); ++n)
      for (const int c : p.rows.parallel) {
        if (c == *lane || p.typical({c}) < shortest || !is_packed(p, i, static_cast<int>(n), c)) continue;
        if (row::access_of(p.rows, p.at(i), p.at(i).nodes[n], *lane) == row::access::strided) return c;
      }
  return std::nullopt;
}

tile_code write_tile(const simt_program& p, const across_choice& choice) {
  return tile_writer(p, choice, *across_lane(p), *tile_class(p)).run();
}

}  // namespace kernsmith::agents::simt
