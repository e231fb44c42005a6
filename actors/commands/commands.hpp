// The subcommands. Each adds its options to a CLI11 subcommand and returns the function that runs it and gives the exit code.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace kernsmith::actors {

using command_body = std::function<int()>;

command_body add_optimize(CLI::App& program);
command_body add_evaluate(CLI::App& program);
command_body add_profile(CLI::App& program);
command_body add_knowledge(CLI::App& program);
command_body add_export(CLI::App& program);
command_body add_show(CLI::App& program);
command_body add_diff(CLI::App& program);
command_body add_bench(CLI::App& program);
command_body add_doctor(CLI::App& program);

/// Parses the command line and runs the command it names.
int run_program(int argc, char** argv);

}  // namespace kernsmith::actors
