// What the forms of an exported kernel have in common.
#pragma once

#include <string>
#include <vector>

#include "backends/pytorch/solution_export.hpp"

namespace kernsmith::pytorch {

[[nodiscard]] bool on_device(const verified_solution& s);
/// Of the compiler, as the kernel was measured.
[[nodiscard]] std::vector<std::string> flags_of(const verified_solution& s);
[[nodiscard]] std::vector<std::string> libraries_of(const problem& p);
/// "(9, 0)" for "cuda/sm_90a"; "None" for processors.
[[nodiscard]] std::string capability_of(const verified_solution& s);
/// "((1, torch.float32), ...)" of a problem's tensors.
[[nodiscard]] std::string dtypes_of(const problem& p, const std::vector<int>& tensors);
/// A text as a Python literal that reads like the text.
[[nodiscard]] std::string literal(const std::string& text);
/// Texts as a Python list.
[[nodiscard]] std::string strings(const std::vector<std::string>& texts);

/// Can the kernel stand in for the problem's module, and is there a workload where it should?
[[nodiscard]] result<void> check_exportable(const problem& p, const verified_solution& s);
/// The whole file with `class ModelNew`. `prebuilt`: an expression for the path of a library that has the kernel already; else "None".
[[nodiscard]] std::string module_text(const problem& p, const verified_solution& s, const std::string& prebuilt);

}  // namespace kernsmith::pytorch
