
#ifndef SINGLE // compiled alone, without single.metal before it
#include "single.metal"
#include "../recurrence/launch/rows.metal"
#endif

#define COMPOSED // for the texts that go on from here

// A chunk of samples takes the state s at its beginning to P·s + z at its end, where P is the section's state matrix to the power
// of the chunk's samples and z is what the chunk leaves behind from silence. A scan over the threads composes them.
//
// `powers` holds P to the powers 1, 2, 4, 8, 16, 32 and then 0 to 31, each as (m11, m12, m21, m22).

static inline float2 times(float4 m, float2 s) {
    return float2(m.x * s.x + m.y * s.y, m.z * s.x + m.w * s.y);
}

// What the chunks of the lanes up to this one leave behind, from silence before the first one. P has the first powers, in memory or
// in registers.
template <class P>
static inline float2 composed(float2 z, P powers, uint lane) {
    for (uint k = 0; k < 5; ++k) {
        uint distance = 1u << k;
        float2 earlier = float2(simd_shuffle_up(z.x, distance), simd_shuffle_up(z.y, distance));
        if (lane >= distance) {
            z = z + times(powers[k], earlier);
        }
    }
    return z;
}

// The state at the beginning of a lane's chunk, from the one at the simdgroup's, from what composed returned, and from the lane's own
// power.
static inline float2 atChunk(float2 s, float2 z, float4 power, uint lane) {
    float2 earlier = float2(simd_shuffle_up(z.x, 1), simd_shuffle_up(z.y, 1));
    s = times(power, s);
    return lane > 0 ? s + earlier : s;
}
