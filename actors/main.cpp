#include "actors/commands/commands.hpp"

int main(int argc, char** argv) {
  return kernsmith::actors::run_program(argc, argv);
}
