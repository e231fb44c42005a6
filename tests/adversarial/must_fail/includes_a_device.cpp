// expect: build_failed or build_timeout or resource_limit
// problem: affine
// effort: search
// origin: contract
// why: includes a file without an end
#include "/dev/zero"
