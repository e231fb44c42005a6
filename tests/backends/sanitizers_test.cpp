// What sanitizers' reports mean in the words of an evaluation, and that a strict evaluation says what it examined.
#include "backends/cpp/sanitizers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kernsmith::cpp;

TEST_CASE("an access outside of its memory is out_of_bounds, with the line of the access and not of the allocation") {
  const std::string report =
      "chatter of the kernel\n=================================================================\n"
      "==2==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000060 at pc 0x7ff4 bp 0x7ffc sp 0x7ffc\n"
      "WRITE of size 4 at 0x602000000060 thread T0\n"
      "    #0 0x7ff4 in store /build/kernel.cpp:9\n    #1 0x7ff4 in launch /build/kernel.cpp:30\n"
      "0x602000000060 is located 0 bytes to the right of 16-byte region\nallocated by thread T0 here:\n"
      "    #0 0x7f in operator new[](unsigned long)\n    #1 0x7f in launch /build/kernel.cpp:4\n";
  const auto found = find_report(sanitizer::address, report);
  REQUIRE(found);
  CHECK(found->outcome == "out_of_bounds");
  CHECK(found->text == "AddressSanitizer: heap-buffer-overflow, WRITE of size 4 at kernel.cpp:9");
}

TEST_CASE("what is no access out of bounds ends the process: crashed") {
  const auto twice = find_report(sanitizer::address, "==2==ERROR: AddressSanitizer: attempting double-free on 0x602 in thread T0:\n");
  REQUIRE(twice);
  CHECK(twice->outcome == "crashed");
}

TEST_CASE("undefined behaviour is crashed, an index outside of its array out_of_bounds") {
  const auto shift = find_report(sanitizer::undefined, "/build/kernel.cpp:14:34: runtime error: shift exponent 32 is too large\n");
  REQUIRE(shift);
  CHECK(shift->outcome == "crashed");
  CHECK(shift->text == "UndefinedBehaviorSanitizer: undefined behaviour: kernel.cpp:14:34: runtime error: shift exponent 32 is too large");
  const auto index =
      find_report(sanitizer::undefined, "/build/kernel.cpp:3:1: runtime error: index 16 out of bounds for type 'float [16]'\n");
  REQUIRE(index);
  CHECK(index->outcome == "out_of_bounds");
}

TEST_CASE("a race is nondeterministic and names both ends") {
  const std::string report =
      "WARNING: ThreadSanitizer: data race (pid=2)\n  Write of size 8 at 0x7b by thread T1:\n"
      "    #0 launch._omp_fn.0 /build/kernel.cpp:113 (kernel.so+0x4c)\n    #1 run_region /build/companion.cpp:81 (kernel.so+0x2f)\n\n"
      "  Previous read of size 8 at 0x7b by thread T2:\n    #0 launch._omp_fn.0 /build/kernel.cpp:115 (kernel.so+0x4d)\n"
      "    #1 run_region /build/companion.cpp:81 (kernel.so+0x2f)\n";
  const auto found = find_report(sanitizer::thread, report);
  REQUIRE(found);
  CHECK(found->outcome == "nondeterministic");
  CHECK(found->text == "ThreadSanitizer: data race, Write of size 8 at kernel.cpp:113 and kernel.cpp:115");
}

TEST_CASE("output without a report, or with another sanitizer's, is no finding") {
  for (const sanitizer which : all_sanitizers) {
    CHECK_FALSE(find_report(which, ""));
    CHECK_FALSE(find_report(which, "ERROR: everything is fine\n"));
  }
  CHECK_FALSE(find_report(sanitizer::address, "WARNING: ThreadSanitizer: data race (pid=2)\n"));
}

TEST_CASE("races are looked for with several threads on any number of cores") {
  CHECK(threads_under(sanitizer::thread, 1) == 4);
  CHECK(threads_under(sanitizer::thread, 8) == 8);
  CHECK(threads_under(sanitizer::address, 1) == 1);
}
