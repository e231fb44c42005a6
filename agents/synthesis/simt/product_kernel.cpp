// The kernel of a product: how its tiles come and what is done with them.
#include <fmt/format.h>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/simt/product_text.hpp"
#include "agents/synthesis/simt/product_writer.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"

namespace kernsmith::agents::simt {
namespace {

/// Without the newline at its end.
std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::string product_writer::storage(const product_tile& t) const {
  return simt_storage_type(c_.type_of(t));
}

std::string product_writer::parameters() const {
  return parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix");
}

std::string product_writer::arguments() const {
  return argument_text(p_.flat, kernel_parameters(p_));
}

std::string product_writer::unpack_batch(const std::string& matrix, const std::string& indent) const {
  std::string text, rest = matrix;
  for (std::size_t b = c_.batch.size(); b-- > 0;) {
    const std::string size = extent(c_.batch[b]);
    text += fmt::format("{}[[maybe_unused]] const ks_ix {} = {}{};\n", indent, name(c_.batch[b]), rest, " % " + size);
    rest = fmt::format("{} / {}", rest, size);
  }
  return trimmed(text);
}

std::string product_writer::address_function(const product_tile& t, const std::string& type, const std::string& indent) const {
  return fmt::format("{0}const auto {1}_at = [&]({2} {3}, {2} {4}) {{ return &{5}; }};\n", indent, t.name, type, own_name(t),
                     name(c_.depth), code_.element(c_.reduce, t.node));
}

bool product_writer::has_aligned() const {
  bool any = false;
  for (const product_tile& t : c_.tiles) any = any || t.along_own;
  return s_.copies && any;
}

std::string product_writer::aligned_condition() const {
  // Addresses are affine: where the first element and its neighbours along the depth and the batch begin such pieces, all do.
  std::string text;
  for (const product_tile& t : c_.tiles) {
    if (!t.along_own) continue;
    std::string starts = fmt::format("uintptr_t({0}_at(0, 0)) | uintptr_t({0}_at(0, 1))", t.name);
    text += fmt::format("{}({}) % 16 == 0", text.empty() ? "" : " && ", starts);
  }
  return text;
}

std::string product_writer::unit(const product_tile& t) const {
  if (!s_.copies) return t.along_own || t.along_depth ? "4" : "1";
  return t.along_own ? fmt::format("kAligned ? {} : 1", 16 / size_of(c_.type_of(t))) : "1";
}

std::string product_writer::tiles() const {
  std::string text;
  std::int64_t at = 0;
  for (const product_tile& t : c_.tiles) {
    const std::string type = c_.tile_type(code_, t),
                      line = fmt::format("{}{}", t.left ? "kTileRows" : "kTileColumns", t.along_depth ? " + 4" : "");
    text += fmt::format("  {0}(*const {1})[kDepth][{2}] = reinterpret_cast<{0}(*)[kDepth][{2}]>(ring + {3});{4}\n", type, t.name, line, at,
                        t.along_depth ? "  // turned round: the 4 keep what is written side by side in different banks" : "");
    at += static_cast<std::int64_t>(s_.slots) * s_.depth * s_.line(t) *
          (type == "double" || type == "int64_t" ? 8
           : type == "bool"                      ? 1
                                                 : 4);
  }
  return trimmed(text);
}

std::string product_writer::shares() const {
  std::string text;
  const std::string k = name(c_.depth);
  for (const product_tile& t : c_.tiles) {
    text += address_function(t, "ks_ix", "  ");
    text += fmt::format(
        "  ks_tile_share<{0}, ks_ix, kThreads, kDepth, {1}, {2}, {3}> {4}_share(\n"
        "      {4}_at({5}_start, first_step * kDepth), {4}_at(1, 0) - {4}_at(0, 0), {4}_at(0, 1) - {4}_at(0, 0), {6} - {5}_start,\n"
        "      depth_end - first_step * kDepth);\n",
        storage(t), t.left ? "kTileRows" : "kTileColumns", unit(t), t.along_depth ? "true" : "false", t.name, own_name(t), own_extent(t));
  }
  return trimmed(text);
}

std::string product_writer::copies() const {
  std::string text;
  for (const product_tile& t : c_.tiles) {
    text += fmt::format(
        "      {0}_share.each([&](int, int own, int level, const {1}* from, int count) {{\n"
        "        ks_copy<({2}) * sizeof({1})>(ks_shared_address(&{0}[slot][level][own]), from, count * int(sizeof({1})));\n"
        "      }});\n"
        "      {0}_share.advance();\n",
        t.name, storage(t), unit(t));
  }
  return trimmed(nest::fill(product_copies_text, {{"COPIES", trimmed(text)}}));
}

std::string product_writer::loads() const {
  std::string next, loads, stores;
  lane_code raw(p_);
  for (const product_tile& t : c_.tiles) {
    const std::string type = c_.tile_type(code_, t);
    raw.have(c_.reduce, t.node, "raw");
    const std::string value = raw.value(c_.reduce, t.node, class_of(c_.type_of(t)));
    next += fmt::format("  ks_pack<{0}, {1}> {2}_next[decltype({2}_share)::kPieces];\n", storage(t), unit(t), t.name);
    loads += fmt::format(
        "      {0}_share.each([&](int piece, int, int, const {1}* from, int count) {{\n"
        "        {0}_next[piece] = ks_fetch<{2}, ks_any, false>(from, 0, count);\n"
        "      }});\n"
        "      {0}_share.advance();\n",
        t.name, storage(t), unit(t));
    stores += fmt::format(
        "    {0}_share.each([&](int piece, int own, int level, const {1}*, int) {{\n"
        "      ks_pack<{2}, {3}> values;\n"
        "#pragma unroll\n"
        "      for (int l = 0; l < {3}; ++l) {{\n"
        "        const {1} raw = {0}_next[piece].at[l];\n"
        "        values.at[l] = {4};\n"
        "      }}\n",
        t.name, storage(t), type, unit(t), value);
    stores += t.along_depth ? fmt::format("#pragma unroll\n      for (int l = 0; l < {1}; ++l) {0}[slot][level + l][own] = values.at[l];\n",
                                          t.name, unit(t))
                            : fmt::format("      ks_store<{1}, false>(&{0}[slot][level][own], values);\n", t.name, unit(t));
    stores += "    });\n";
  }
  return trimmed(nest::fill(product_loads_text, {{"NEXT", trimmed(next)}, {"LOADS", trimmed(loads)}, {"STORES", trimmed(stores)}}));
}

std::string product_writer::kernel() {
  const std::string m = name(c_.row), n = name(c_.column), k = name(c_.depth);
  std::string statements, own, reads, taken;
  for (int i = 0; i < p_.count(); ++i) statements += "//   " + p_.at(i).text + "\n";
  for (const product_tile& t : c_.tiles) {
    own += fmt::format("  {} {}_own[2][{}];\n", c_.tile_type(code_, t), t.name, t.left ? "kRows" : "kColumns");
    reads += fmt::format("    ks_read_line<{1}>({0}_own[to], &{0}[slot][level][{2}]);\n", t.name, t.left ? 16 : 32,
                         t.left ? "first_row" : "first_column");
    for (const int node : t.nodes) code_.ready(c_.reduce, node, fmt::format("{}_own[own][{}]", t.name, t.left ? "down" : "across"));
  }
  for (const std::string& line : take_in(p_, code_, c_.reduce, "total[down][across]")) taken += "        " + line + "\n";
  const bool parts = s_.splits > 1;
  const std::string end = extent(c_.depth);
  std::string part = fmt::format("  const ks_ix first_step = 0, last_step = steps, depth_end = {};", end);
  if (parts)
    part = fmt::format(
        "  const ks_ix share = (steps + kSplits - 1) / kSplits, part = matrix / ({0}), first_step = part * share;\n"
        "  const ks_ix last_step = first_step + share < steps ? first_step + share : steps;\n"
        "  const ks_ix depth_end = last_step * kDepth < {1} ? last_step * kDepth : {1};",
        p_.product(c_.batch), end);
  const std::string threads = std::to_string(s_.threads()), blocks = std::to_string(s_.resident(c_, model_));
  return nest::fill(
      product_kernel_text,
      {{"HOW", s_.copies ? ", copied there in the background" : " by way of registers"},
       {"STATEMENTS", trimmed(statements)},
       {"ALIGNED_PARAMETER", has_aligned() ? ", bool kAligned" : ""},
       {"BOUNDS", threads + ", " + (model_.language == dialect::hip ? fmt::format("ks_resident({}, {})", threads, blocks) : blocks)},
       {"GROUP", p_.rows.name},
       {"PARAMETERS", parameters()},
       {"PARTIAL_PARAMETER", parts ? fmt::format(", {}* partial", sum_.type) : ""},
       {"TILE_ROWS", std::to_string(s_.tile_m)},
       {"TILE_COLUMNS", std::to_string(s_.tile_n)},
       {"ROWS", std::to_string(s_.own_m)},
       {"COLUMNS", std::to_string(s_.own_n)},
       {"DEPTH", std::to_string(s_.depth)},
       {"SLOTS", std::to_string(s_.slots)},
       {"BAND", std::to_string(s_.band)},
       {"SPLITS", std::to_string(s_.splits)},
       {"TILES", tiles()},
       {"ROW_EXTENT", extent(c_.row)},
       {"COLUMN_EXTENT", extent(c_.column)},
       {"DEPTH_EXTENT", extent(c_.depth)},
       {"M", m},
       {"N", n},
       {"K", k},
       {"BATCH", unpack_batch("matrix", "  ")},
       {"PART", part},
       {"SHARES", shares()},
       {"WAY", s_.copies ? copies() : loads()},
       {"SUM_TYPE", sum_.type},
       {"INITIAL", sum_.initial},
       {"OWN", trimmed(own)},
       {"READS", trimmed(reads)},
       {"TAKE_IN", trimmed(taken)},
       {"BEGIN", s_.copies ? "#pragma unroll\n  for (int ahead = 0; ahead + 1 < kSlots; ++ahead) fetch(ahead);\n  ks_copies_wait<kSlots - "
                             "2>();\n  __syncthreads();"
                           : "  bring();\n  put(0);\n  __syncthreads();"},
       {"END_OF_PART", "depth_end"},
       {"NEXT_IS_THERE", s_.copies ? "        ks_copies_wait<kSlots - 2>();" : "        put(next);"},
       {"FETCH_NEXT", s_.copies ? "fetch(slot == 0 ? kSlots - 1 : slot - 1);" : "bring();"},
       {"EMIT", parts ? partial_store() : finish_call()}});
}

}  // namespace kernsmith::agents::simt
