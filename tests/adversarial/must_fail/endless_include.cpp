// expect: build_failed
// problem: affine
// effort: search
// origin: contract
// why: includes itself
#include __FILE__
