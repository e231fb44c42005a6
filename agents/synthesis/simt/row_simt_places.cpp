// Where the extremes of a row stand that threads along it keep: found by value once the extreme is known.
#include "agents/synthesis/simt/row_simt_inner.hpp"

namespace kernsmith::agents::simt {

bool inner_writer::looks_back(int i, body b) const {
  const row::row_statement& s = p_.at(i);
  if (b != body::kept || s.kind != row::role::reduce) return false;
  if (s.reducer != reduction::argmax && s.reducer != reduction::argmin) return false;
  return is_packed(p_, i, s.value, lane_) && varies_with_row(i, s.value);
}

std::string inner_writer::take_extreme(const lane_code& code, int i) {
  const accumulator a = extreme_of(p_, code, i);
  return fmt::format("{0} = {1}({0}, {2});", part_name(i), a.merge, code.value(i, p_.at(i).value, a.of));
}

void inner_writer::find_place(lane_code& code, int i, const std::vector<pack>& held, body b) {
  const accumulator a = extreme_of(p_, code, i);
  const std::string stem = p_.stem(p_.at(i).tensor), extreme = stem + "_extreme", place = stem + "_place";
  const std::string n = p_.class_name(lane_);
  out_.line(fmt::format("const {} {} = ks_reduce<kThreads, kBlocks>({}, {});", a.type, extreme, part_name(i), a.merge));
  out_.line(fmt::format("ks_ix {} = {};", place, extent_));
  out_.open(fmt::format("if ({} == {} || lane == 0)", part_name(i), extreme));
  const std::string step = "find_" + stem;
  open_step(step);
  out_.line(fmt::format("const ks_ix first = {};", first_text(b)));
  if (in_shared(b)) take_out(code, {i}, held);
  bind(code, {i}, held, held_index());
  open_lanes(b);
  const std::string value = code.value(i, p_.at(i).value, a.of);
  out_.line(
      fmt::format("const bool here = {0} == {1} || ({2} == 0 && {0} != {0});  // a NaN counts where the row begins", value, extreme, n));
  out_.line(fmt::format("if (here && {0} < {1}) {1} = {0};", n, place));
  out_.close();
  out_.close(";");
  take_steps(step, b);
  code.forget_elements();
  out_.close();
  out_.line(fmt::format("{0} = ks_reduce<kThreads, kBlocks>({0}, ks_takes_smaller{{}});", place));
  out_.line(fmt::format("[[maybe_unused]] const {} {} = {};", code.seen_type(i), row_name(i),
                        code.seen(i, fmt::format("int64_t({})", place), value_class::integer)));
  code.know(i, row_name(i));
  store_row_value(code, i, b);
}

}  // namespace kernsmith::agents::simt
