// What callgrind, objdump, llvm-mca and the runner's profile mode write, read back.
#include <string>

#include <doctest/doctest.h>

#include "backends/cpp/profile_assembly.hpp"
#include "backends/cpp/profile_callgrind.hpp"
#include "backends/cpp/profile_mca.hpp"
#include "backends/cpp/profile_samples.hpp"

using namespace kernsmith;
using namespace kernsmith::cpp;

namespace {

// Cut from a real run (valgrind 3.19).
const char* const callgrind_text = R"(# callgrind format
version: 1
positions: instr
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
summary: 24535332 6886937 1642436 4 32849 32811 4 32849 32811 1640770 1614 524302 1

ob=/candidate/kernel.so
fl=???
fn=launch
0x1120 2 0 2 1
0x1124 2
cob=/usr/lib/libgomp.so.1
cfi=???
cfn=GOMP_parallel
calls=3 0x14070 
0x13ff 24535280 6886923 1642428 4 32841 32811 4 32841 32811 1640770 1614 524298

fn=launch._omp_fn.0
0x1210 1000 1000 0 0 250 0 0 60
0x1214 1000
0x1218 1000 0 1000 0 0 125 0 0 30
0x121c 1000 0 0 0 0 0 0 0 0 1000 10

ob=/usr/lib/libm.so.6
fn=expf
0x72bb0 500 100 0 0 0 0 0 0 0 0 0 20 5
)";

const char* const listing = R"(
kernel.so:     file format elf64-x86-64

Disassembly of section .text:

0000000000001120 <launch>:
    1120:	sub    $0x8,%rsp
    1124:	call   1040 <GOMP_parallel@plt>

0000000000001200 <launch._omp_fn.0>:
    1200:	xor    %eax,%eax
    1208:	nopl   0x0(%rax)
    1210:	vmovups (%rdi,%rax,1),%ymm0
    1214:	vfmadd231ps 0x10(%rsp),%ymm1,%ymm0
    1218:	vmovups %ymm0,(%rsi,%rax,1)
    121c:	jne    1210 <launch._omp_fn.0+0x10>
    1220:	jne    1200 <launch._omp_fn.0>
    1224:	vdivss %xmm1,%xmm2,%xmm3        # 20c0 <x>
    1228:	ret
)";

}  // namespace

TEST_CASE("callgrind: own counts by object and address, calls apart") {
  const auto profile = parse_callgrind(callgrind_text);
  REQUIRE(profile.has_value());
  CHECK(profile->total.instructions == 4504);
  CHECK(profile->objects.at("/candidate/kernel.so").instructions == 4004);
  CHECK(profile->objects.at("/usr/lib/libm.so.6").instructions == 500);
  CHECK(profile->instructions.at("/candidate/kernel.so").at(0x1214) == 1000);
  CHECK(profile->total.read_misses == 250);
  CHECK(profile->total.write_misses == 125);
  CHECK(profile->total.deep_read_misses == 60);
  CHECK(profile->total.branches == 1020);
  CHECK(profile->total.mispredicted == 15);
  CHECK(profile->calls.at("GOMP_parallel") == 3);
  CHECK_FALSE(parse_callgrind("events: Ir\n").has_value());
  CHECK_FALSE(parse_callgrind("").has_value());
}

TEST_CASE("callgrind: caches it can simulate") {
  CHECK(simulatable({48 << 10, 12, 64}).bytes == 48 << 10);
  CHECK(simulatable({1280 << 10, 20, 64}).bytes == 1280 << 10);
  const auto odd = simulatable({36 << 20, 12, 64});
  CHECK(odd.bytes == 24 << 20);
  const auto here = describe_caches();
  CHECK(here.caches.data.bytes > 0);
  CHECK(here.caches.second.bytes > here.caches.data.bytes);
}

TEST_CASE("objdump: instructions, their functions and jumps") {
  const auto code = parse_disassembly(listing);
  REQUIRE(code.size() == 11);
  CHECK(code[0].function == "launch");
  CHECK(code[0].mnemonic == "sub");
  CHECK(code[4].operands == "(%rdi,%rax,1),%ymm0");
  CHECK(code[7].target == 0x1210);
  CHECK(code[9].operands == "%xmm1,%xmm2,%xmm3");
  CHECK(parse_disassembly("").empty());
}

TEST_CASE("the hottest block is the innermost loop that executes most") {
  const auto code = parse_disassembly(listing);
  const execution_counts counts = {{0x1200, 10}, {0x1210, 1000}, {0x1214, 1000}, {0x1218, 1000}, {0x121c, 1000}, {0x1220, 10}, {0x1224, 5}};
  const hot_block block = find_hot_block(code, counts);
  CHECK(block.loop);
  REQUIRE(block.code.size() == 4);
  CHECK(block.code.front().address == 0x1210);
  CHECK(block.share > 0.95);
  CHECK(block_assembly(block) ==
        "\t.text\n.Lblock:\n\tvmovups (%rdi,%rax,1),%ymm0\n\tvfmadd231ps 0x10(%rsp),%ymm1,%ymm0\n\tvmovups %ymm0,(%rsi,%rax,1)\n\tjne "
        ".Lblock\n");
  CHECK(find_hot_block(code, {}).code.empty());
  // Samples miss instructions by chance: the whole loop is kept.
  CHECK(find_hot_block(code, {{0x1214, 9}}, counted_by::samples).code.size() == 4);
}

TEST_CASE("straight code around the hottest instruction where nothing loops") {
  const hot_block block = find_hot_block(parse_disassembly(listing), {{0x1224, 100}, {0x1228, 100}});
  CHECK_FALSE(block.loop);
  CHECK(block.code.size() == 2);
}

TEST_CASE("kinds of instructions, weighted by how often they ran") {
  const auto code = parse_disassembly(listing);
  const instruction_mix mix = mix_of(code, {{0x1210, 100}, {0x1214, 100}, {0x1218, 100}, {0x121c, 50}, {0x1224, 50}});
  CHECK(mix.total == 400);
  CHECK(mix.packed_float == doctest::Approx(0.25));
  CHECK(mix.scalar_float == doctest::Approx(0.125));
  CHECK(mix.vector_share() == doctest::Approx(2.0 / 3));
  CHECK(mix.loads_and_stores == doctest::Approx(0.75));
  CHECK(mix.stack_accesses == doctest::Approx(0.25));
  CHECK(mix.divisions == doctest::Approx(0.125));
  CHECK(mix.branches == doctest::Approx(0.125));
  CHECK(mix_of(code, {}).total == 0);
}

TEST_CASE("llvm-mca: cycles, throughput and the busiest resource") {
  // Cut from llvm-mca 14 for znver3: a chain of scalar additions.
  const auto report = parse_mca(R"(Iterations:        100
Instructions:      400
Total Cycles:      310
Total uOps:        400

Dispatch Width:    6
uOps Per Cycle:    1.29
IPC:               1.29
Block RThroughput: 0.7


Resources:
[0]   - Zn3AGU0
[1]   - Zn3ALU0
[2.0] - Zn3FPP45
[2.1] - Zn3FPP45


Resource pressure per iteration:
[0]    [1]    [2.0]  [2.1]  
 -     0.60   0.50   0.62   

Resource pressure by instruction:
)");
  REQUIRE(report.has_value());
  CHECK(report->cycles_per_iteration == doctest::Approx(3.1));
  CHECK(report->ipc == doctest::Approx(1.29));
  CHECK(report->throughput_cycles == doctest::Approx(0.7));
  CHECK(report->busiest_port == "Zn3FPP45");
  CHECK(report->busiest_port_share == doctest::Approx(0.2));
  CHECK_FALSE(parse_mca("error: unknown instruction").has_value());
}

TEST_CASE("a run's report is read back") {
  const auto report = harness::parse_profile_report(
      "calls 3\ncall_ns 12.5\nwall_ns 40\ncpu_ns 70\nevent_ns 0\nsample 7 5 1f7da /lib/a b.so\nsample 8 1 0 ?\n");
  REQUIRE(report.has_value());
  CHECK(report->calls == 3);
  CHECK(report->call_ns == 12.5);
  REQUIRE(report->samples.size() == 2);
  CHECK(report->samples[0].offset == 0x1f7da);
  CHECK(report->samples[0].object == "/lib/a b.so");
  const auto device = harness::parse_profile_report(
      "calls 20\ncall_ns 1\nwall_ns 20\ncpu_ns 2\nevent_ns 18\ndevice_kernels 320\ndevice_copies 0\ndevice_busy_ns 6e5\ndevice_span_ns "
      "1.2e6\n"
      "host_syncs 1\nhost_sync_ns 300\n");
  REQUIRE(device.has_value());
  CHECK(device->event_ns == 18);
  CHECK(device->timeline.kernels == 320);
  CHECK(device->timeline.busy_ns / device->timeline.span_ns == doctest::Approx(0.5));
  CHECK(device->timeline.syncs == 1);
  CHECK_FALSE(harness::parse_profile_report("").has_value());
  CHECK_FALSE(harness::parse_profile_report("calls many\n").has_value());
  CHECK_FALSE(harness::parse_profile_report("calls 0\nwall_ns 1\n").has_value());
}

TEST_CASE("samples: whose code, and how evenly") {
  CHECK(owner_of("/x/kernel.so", "/x/kernel.so") == code_owner::kernel);
  CHECK(owner_of("/lib/libgomp.so.1", "/x/kernel.so") == code_owner::runtime);
  CHECK(owner_of("/lib/libm.so.6", "/x/kernel.so") == code_owner::math);
  CHECK(owner_of("/lib/libmvec.so.1", "/x/kernel.so") == code_owner::math);
  CHECK(owner_of("/lib/libc.so.6", "/x/kernel.so") == code_owner::memory);
  CHECK(owner_of("/lib/libmagic.so", "/x/kernel.so") == code_owner::other);
  const auto even = summarise({{1, 50, 0, "k"}, {2, 50, 0, "k"}, {2, 100, 0, "libgomp.so.1"}}, "k", 2);
  CHECK(even.count == 200);
  CHECK(even.kernel == doctest::Approx(0.5));
  CHECK(even.runtime == doctest::Approx(0.5));
  CHECK(even.imbalance == doctest::Approx(0));
  CHECK(summarise({{1, 50, 0, "k"}}, "k", 4).imbalance == doctest::Approx(0.75));
  CHECK(summarise({}, "k", 2).count == 0);
}
