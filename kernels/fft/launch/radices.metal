
#ifndef UNROLL // compiled alone, without butterflies.metal before it
#include "butterflies.metal"
#endif

// Transforms of a few points whose number has the prime factors 2, 3, 5 and 7, and what turns points between them, for
// mixed.metal and fixed.metal.

// dft transforms v[0] … v[R-1] in place, in order.
template <uint R>
inline void dft(thread float2* v);

template <>
inline void dft<2>(thread float2* v) {
    dft2<1>(v);
}

template <>
inline void dft<4>(thread float2* v) {
    dft4<1>(v);
}

template <>
inline void dft<8>(thread float2* v) {
    dft8<1>(v);
}

// An odd number of points: those that lie opposite each other share their products. The tables are cos(2·pi·e / R) and
// sin(2·pi·e / R).
template <uint R>
inline void odd(thread float2* v, thread const float* cosines, thread const float* sines) {
    float2 sum[R / 2 + 1], difference[R / 2 + 1];
    float2 first = v[0], all = v[0];
    UNROLL
    for (uint q = 1; q <= R / 2; ++q) {
        sum[q] = v[q] + v[R - q];
        difference[q] = quarter(v[q] - v[R - q]);
        all = all + sum[q];
    }
    v[0] = all;
    UNROLL
    for (uint k = 1; k <= R / 2; ++k) {
        float2 even = first, turned = difference[1] * sines[k];
        UNROLL
        for (uint q = 1; q <= R / 2; ++q) {
            even = fma(sum[q], float2(cosines[k * q % R]), even);
            if (q > 1) {
                turned = fma(difference[q], float2(sines[k * q % R]), turned);
            }
        }
        v[k] = even + turned;
        v[R - k] = even - turned;
    }
}

template <>
inline void dft<3>(thread float2* v) {
    const float cosines[3] = {1.0f, -0.5f, -0.5f};
    const float sines[3] = {0.0f, 0.866025403784438647f, -0.866025403784438647f};
    odd<3>(v, cosines, sines);
}

template <>
inline void dft<5>(thread float2* v) {
    const float cosines[5] = {1.0f, 0.309016994374947424f, -0.809016994374947424f, -0.809016994374947424f,
                              0.309016994374947424f};
    const float sines[5] = {0.0f, 0.951056516295153572f, 0.587785252292473129f, -0.587785252292473129f,
                            -0.951056516295153572f};
    odd<5>(v, cosines, sines);
}

template <>
inline void dft<7>(thread float2* v) {
    const float cosines[7] = {1.0f, 0.623489801858733531f, -0.222520933956314404f, -0.900968867902419126f,
                              -0.900968867902419126f, -0.222520933956314404f, 0.623489801858733531f};
    const float sines[7] = {0.0f, 0.781831482468029809f, 0.974927912181823607f, 0.433883739117558120f,
                            -0.433883739117558120f, -0.974927912181823607f, -0.781831482468029809f};
    odd<7>(v, cosines, sines);
}

template <>
inline void dft<9>(thread float2* v) {
    float2 part[9];
    UNROLL
    for (uint q = 0; q < 3; ++q) {
        UNROLL
        for (uint k = 0; k < 3; ++k) {
            part[3 * q + k] = v[3 * k + q];
        }
        dft<3>(part + 3 * q);
    }
    const float2 first = float2(0.766044443118978035f, -0.642787609686539326f);
    const float2 second = float2(0.173648177666930349f, -0.984807753012208059f);
    const float2 fourth = float2(-0.939692620785908384f, -0.342020143325668733f);
    part[4] = product(part[4], first);
    part[5] = product(part[5], second);
    part[7] = product(part[7], second);
    part[8] = product(part[8], fourth);
    UNROLL
    for (uint k = 0; k < 3; ++k) {
        float2 last[3] = {part[k], part[3 + k], part[6 + k]};
        dft<3>(last);
        v[k] = last[0];
        v[3 + k] = last[1];
        v[6 + k] = last[2];
    }
}

// A·B points, A and B without a common factor, in A by B of them without twiddle factors (I. J. Good, The interaction
// algorithm and practical Fourier analysis, 1958). E is 1 modulo A and 0 modulo B.
template <uint A, uint B, uint E>
inline void coprime(thread float2* v) {
    float2 part[A * B];
    UNROLL
    for (uint b = 0; b < B; ++b) {
        UNROLL
        for (uint a = 0; a < A; ++a) {
            part[b * A + a] = v[(B * a + A * b) % (A * B)];
        }
        dft<A>(part + b * A);
    }
    UNROLL
    for (uint a = 0; a < A; ++a) {
        float2 last[B];
        UNROLL
        for (uint b = 0; b < B; ++b) {
            last[b] = part[b * A + a];
        }
        dft<B>(last);
        UNROLL
        for (uint b = 0; b < B; ++b) {
            v[(E * a + (A * B + 1 - E) * b) % (A * B)] = last[b];
        }
    }
}

template <>
inline void dft<6>(thread float2* v) {
    coprime<2, 3, 3>(v);
}

template <>
inline void dft<10>(thread float2* v) {
    coprime<2, 5, 5>(v);
}

template <>
inline void dft<12>(thread float2* v) {
    coprime<4, 3, 9>(v);
}

template <>
inline void dft<14>(thread float2* v) {
    coprime<2, 7, 7>(v);
}

template <>
inline void dft<15>(thread float2* v) {
    coprime<3, 5, 10>(v);
}

template <>
inline void dft<16>(thread float2* v) {
    dft16<1>(v);
}

// turn multiplies v[q] by w to the power of q.
template <uint R>
inline void turn(thread float2* v, float2 w) {
    float2 power[R];
    power[1] = w;
    UNROLL
    for (uint q = 1; q < R; ++q) {
        if (q > 1) {
            power[q] = product(power[q / 2], power[q - q / 2]);
        }
        v[q] = product(v[q], power[q]);
    }
}

// exp(-2·pi·i·e / L) is fine·coarse, L being the length of the whole transform, in real values where they are pairs of
// them. The two tables lie one after the other, and the first one has 2^bits roots. They are multiplied where the product
// is needed, so that nothing waits for them before.
struct Factors {
    float2 fine;
    float2 coarse;
};

inline Factors factors(device const float2* roots, uint e, uint bits) {
    Factors f;
    f.fine = roots[e & ((1u << bits) - 1)];
    f.coarse = roots[(1u << bits) + (e >> bits)];
    return f;
}
