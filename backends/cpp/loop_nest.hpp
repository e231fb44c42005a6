// Loop nests for one statement of a definition, as C++ text: the plain one (naive baseline, and the reference where nothing better applies)
// and the blocked one of the float64 reference.
#pragma once

#include <string>
#include <vector>

#include "backends/cpp/expression_text.hpp"

namespace kernsmith::cpp {

/// Lines of C++ with the indentation that their braces ask for.
class code_text {
 public:
  void line(const std::string& text);
  void open(const std::string& text) {
    line(text + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 1;  // everything stands inside `launch`
};

/// One statement on its way to text.
struct nest_task {
  const problem& p;
  const statement& s;
  arithmetic mode;
  expression_text expressions;

  nest_task(const problem& from, const statement& which, arithmetic how) : p(from), s(which), mode(how), expressions(from, which, how) {}
  [[nodiscard]] std::string extent(int variable) const { return extent_text(p, s.variables[static_cast<std::size_t>(variable)].extent); }
  [[nodiscard]] std::string variable_name(int variable) const { return "i_" + s.variables[static_cast<std::size_t>(variable)].name; }
  /// Index variables under their own names, nothing computed yet.
  [[nodiscard]] bindings fresh_bindings() const;
};

/// One loop per free index in the order of the target's dimensions (a scanned index last), `omp parallel for` on the outermost, each
/// reduction hoisted to the outermost loop where it can stand. Works for every legal statement; scans that are nested or run along several
/// indices go through a temporary first.
void write_plain_nest(code_text& code, const nest_task& task);

/// Blocked, vectorisable and parallel nest. False (and nothing written) where the statement has no such form: the plain nest then serves.
[[nodiscard]] bool write_blocked_nest(code_text& code, const nest_task& task);

/// Writes the loops of one reduction (or the whole run of a scan up to one value) in the current scope and binds its value.
void write_reduction(code_text& code, const nest_task& task, int node, bindings& b, variable_set available, const std::string& suffix);

/// Writes every reduction under `node` that the available variables suffice for and that isn't bound yet.
void write_ready_reductions(code_text& code, const nest_task& task, int node, bindings& b, variable_set available,
                            const std::string& suffix);

}  // namespace kernsmith::cpp
