// Source text of one matrix product on tensor cores.
#pragma once

#include <string>

#include "agents/synthesis/simt/gemm_schedule.hpp"

namespace kernsmith::agents::simt {

/// `decisions`: what was decided, for the comment above the code.
[[nodiscard]] emitted_group emit_gemm(const gemm_plan& plan, const gemm_schedule& schedule, const fusion_group& group,
                                      const std::string& decisions);
/// The same for products of warps (gemm_schedule::by_warps).
[[nodiscard]] emitted_group emit_gemm_mma(const gemm_plan& plan, const gemm_schedule& schedule, const fusion_group& group,
                                          const std::string& decisions);

/// The text of elementwise trees over eight neighbouring elements along one loop variable: loads that are contiguous there are read ahead
/// in whole rows of eight, everything else where it stands.
class row_text {
 public:
  /// `along`: the loop variable; `wide`: arithmetic in double.
  row_text(const nest::program& p, int along, bool wide);
  row_text(const row_text&) = delete;
  row_text& operator=(const row_text&) = delete;

  /// Takes the loads of a tree; before emitting it.
  void hoist(int root);
  /// The reads of all hoisted loads, with the variable at `first`.
  [[nodiscard]] std::string reads(const std::string& first, const std::string& count, const std::string& indent);
  [[nodiscard]] nest::emission& emission() { return emission_; }
  [[nodiscard]] const nest::program& program() const { return program_; }

 private:
  struct read_ahead {
    nest::linear_form where;
    std::vector<nest::guard> guards;  ///< none along the variable
    double pad = 0;
    std::string name;
    int value = -1;
  };
  nest::program program_;
  int along_;
  std::vector<read_ahead> ahead_;
  nest::emission emission_;
};

/// Emitted names of the loop variables: "m_".
[[nodiscard]] std::vector<std::string> loop_names(const nest::program& p);
/// "const int64_t h_ = rest % (t.H); ..." for variables (outermost first) packed into `index`.
[[nodiscard]] std::string unpack_text(const nest::program& p, const std::vector<int>& variables, const std::string& index,
                                      const std::string& indent, const std::string& type = "int64_t");
/// The same with divisions in 32 bits, which `index` must fit; the variables are 64-bit integers all the same.
[[nodiscard]] std::string unpack_narrow_text(const nest::program& p, const std::vector<int>& variables, const std::string& index,
                                             const std::string& indent);
/// The function `finish`: the steps after the sum for eight neighbouring columns of a row.
[[nodiscard]] std::string finish_text(const gemm_plan& plan);
/// Names that the CPU's emitters use, as SIMT sources spell them.
[[nodiscard]] std::string simt_spelling(std::string text);

}  // namespace kernsmith::agents::simt
