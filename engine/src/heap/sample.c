#include "heap/sample.h"

// next is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
static uint64_t next(uint64_t *random) {
    uint64_t x = *random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

// minus_log returns -ln(u) for 0 < u <= 1, with an error below 1e-8. With u = m·2^e and
// y = (m-1)/(m+1), ln m = 2·(y + y³/3 + y⁵/5 + …). m is between √½ and √2, so |y| < 0.172.
static double minus_log(double u) {
    union {
        double value;
        uint64_t bits;
    } m = {u};
    int e = (int)(m.bits >> 52) - 1022;
    m.bits = (m.bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3fe0000000000000);
    if (m.value < 0.7071067811865476) {
        m.value *= 2;
        e--;
    }
    double y = (m.value - 1) / (m.value + 1), square = y * y;
    double series = 1 + square * (1.0 / 3 + square * (1.0 / 5 + square * (1.0 / 7 + square / 9)));
    return -(e * 0.6931471805599453 + 2 * y * series);
}

// one_minus_exp returns 1 - exp(-x) for x > 0 without cancellation. s = exp(-t) - 1 is computed for
// t = x/2^k <= 1/8 by its series, and doubled k times: exp(-2t) - 1 = s·(2 + s).
static double one_minus_exp(double x) {
    if (x > 40) return 1;
    int k = 0;
    for (; x > 0.125; x /= 2) k++;
    static const double coefficients[] = {1. / 40320, 1. / 5040, 1. / 720, 1. / 120,
                                          1. / 24,    1. / 6,    1. / 2,   1};
    double s = 0;
    for (size_t i = 0; i < HL_LENGTH(coefficients); i++) s = coefficients[i] - x * s;
    s *= -x;
    while (k-- > 0) s *= 2 + s;
    return -s;
}

int64_t hl_draw(uint64_t *random, uint64_t period) {
    double u = (double)((next(random) >> 11) + 1) * 0x1p-53;
    if (period <= 1) return 0;
    return (int64_t)(minus_log(u) * (double)period);
}

// For x <= 1/2, 1 / (1 - exp(-x)) = 1/x + 1/2 + x/12 - x³/720 + x⁵/30240 - …, with the numbers of
// Bernoulli: the error is below 1e-8.
uint64_t hl_weight(uint64_t effective_size, uint64_t period) {
    if (period <= 1) return HL_WEIGHT_ONE;
    double x = (double)effective_size / (double)period, square = x * x;
    double weight = x > 0.5 ? 1 / one_minus_exp(x)
                            : (double)period / (double)effective_size + 0.5 +
                                  x * (1. / 12 - square * (1. / 720 - square / 30240));
    return (uint64_t)((double)HL_WEIGHT_ONE * weight + 0.5);
}

uint64_t hl_weighted_bytes(uint64_t size, uint64_t weight) {
    uint64_t whole = (size >> HL_WEIGHT_BITS) * weight;
    uint64_t rest = (size & (HL_WEIGHT_ONE - 1)) * weight;
    return whole + ((rest + HL_WEIGHT_ONE / 2) >> HL_WEIGHT_BITS);
}
