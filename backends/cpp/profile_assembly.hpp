// The machine code of a built kernel as text: which loop is the hottest, and what kinds of instructions it is made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kernsmith::cpp {

struct instruction {
  std::uint64_t address = 0;
  std::string function;
  std::string mnemonic, operands;  ///< AT&T
  std::uint64_t target = 0;        ///< of a direct jump; else 0
};

/// Reads `objdump -d --no-show-raw-insn` (AT&T). Lines that are no instructions are passed over.
[[nodiscard]] std::vector<instruction> parse_disassembly(const std::string& text);

/// Executions by address.
using execution_counts = std::map<std::uint64_t, double>;

/// The innermost loop that executes the most instructions; straight code around the most executed instruction where nothing loops. Empty
/// when nothing was executed.
struct hot_block {
  std::vector<instruction> code;
  double share = 0;  ///< of all counted executions
  bool loop = false;
};
/// What a block executes rarely (paths off the loop) belongs to it only when the counts are samples, which miss instructions by chance.
enum class counted_by : std::uint8_t { executions, samples };
[[nodiscard]] hot_block find_hot_block(const std::vector<instruction>& code, const execution_counts& counts,
                                       counted_by how = counted_by::executions);
/// Each instruction of a block counted once: the mix of one round.
[[nodiscard]] execution_counts once_each(const hot_block& block);

/// As a person reads it: one line each, addresses in front.
[[nodiscard]] std::string block_text(const hot_block& block);
/// As an assembler reads it: jumps go to the block's start, what can't be assembled alone (calls) is left out.
[[nodiscard]] std::string block_assembly(const hot_block& block);

/// Fractions of executed instructions by kind.
struct instruction_mix {
  double total = 0;  ///< executions
  double packed_float = 0, scalar_float = 0;
  double loads_and_stores = 0, stack_accesses = 0, gathers = 0;
  double divisions = 0;  ///< divisions and square roots
  double branches = 0, calls = 0;
  /// Of the floating-point arithmetic, the part in vector instructions; 0 where there is none.
  [[nodiscard]] double vector_share() const { return packed_float + scalar_float > 0 ? packed_float / (packed_float + scalar_float) : 0; }
};
[[nodiscard]] instruction_mix mix_of(const std::vector<instruction>& code, const execution_counts& counts);

}  // namespace kernsmith::cpp
