// expect: resource_limit
// problem: affine
// effort: search
// origin: contract
// why: includes a file without an end
#include "/dev/zero"
