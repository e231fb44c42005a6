# Entry, the way into user mode and the way back. Machine mode is ours, user mode is the kernel's: what runs there reaches neither the
# counter nor semihosting, and of memory only what physical memory protection opens to it.

.equ mstatus_units, 0x6600        # vector and floating-point units on (VS, FS: dirty)
.equ mstatus_previous, 0x1800     # MPP: 0 is user mode

# The linker shortens accesses to be relative to gp. A kernel may leave anything there.
.macro load_global_pointer
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
.endm

.section .text.machine, "ax", @progbits
.global _start
_start:
    load_global_pointer
    li t0, mstatus_units
    csrs mstatus, t0
    la t0, trap
    csrw mtvec, t0
    csrw mie, zero
    csrw mcounteren, zero         # no cycle, time or instret in user mode
    la sp, machine_stack_top
    j machine_main

# void run_in_user_mode(struct visit* visit): a0 -> {entry, arguments[5], stack, thread, began, ended, cause, value, place, address}
.global run_in_user_mode
run_in_user_mode:
    addi sp, sp, -112
    sd ra, 0(sp)
    sd s0, 8(sp)
    sd s1, 16(sp)
    sd s2, 24(sp)
    sd s3, 32(sp)
    sd s4, 40(sp)
    sd s5, 48(sp)
    sd s6, 56(sp)
    sd s7, 64(sp)
    sd s8, 72(sp)
    sd s9, 80(sp)
    sd s10, 88(sp)
    sd s11, 96(sp)
    sd a0, 104(sp)
    csrw mscratch, sp
    li t0, mstatus_previous
    csrc mstatus, t0
    ld t0, 0(a0)
    csrw mepc, t0
    la ra, user_return
    mv t1, a0
    ld a1, 16(t1)
    ld a2, 24(t1)
    ld a3, 32(t1)
    ld a4, 40(t1)
    ld sp, 48(t1)
    ld tp, 56(t1)
    ld a0, 8(t1)
    csrr t0, minstret
    sd t0, 64(t1)
    li t0, 0
    li t1, 0
    mret

# Whatever ends a stay in user mode comes here: the return, a fault, an instruction that is not allowed.
.balign 4
trap:
    csrrw sp, mscratch, sp
    sd t0, -8(sp)
    csrr t0, minstret
    sd t1, -16(sp)
    ld t1, 104(sp)
    sd t0, 72(t1)
    csrr t0, mcause
    sd t0, 80(t1)
    sd a0, 88(t1)
    csrr t0, mepc
    sd t0, 96(t1)
    csrr t0, mtval
    sd t0, 104(t1)
    load_global_pointer
    ld ra, 0(sp)
    ld s0, 8(sp)
    ld s1, 16(sp)
    ld s2, 24(sp)
    ld s3, 32(sp)
    ld s4, 40(sp)
    ld s5, 48(sp)
    ld s6, 56(sp)
    ld s7, 64(sp)
    ld s8, 72(sp)
    ld s9, 80(sp)
    ld s10, 88(sp)
    ld s11, 96(sp)
    addi sp, sp, 112
    ret

# long host_call(long number, void* block): one request to the emulator (RISC-V semihosting: these three instructions, in one page).
.balign 16
.global host_call
host_call:
    .option push
    .option norvc
    slli x0, x0, 0x1f
    ebreak
    srai x0, x0, 7
    .option pop
    ret

.section .text.user_entry, "ax", @progbits
.global user_return
user_return:
    ecall
.global empty_kernel              # what a call costs without a kernel
empty_kernel:
    li a0, 0
    ret
