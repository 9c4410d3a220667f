// Writes to memory that no process has, 128 TiB behind its own buffer.
#include <metal_stdlib>
using namespace metal;

kernel void write_foreign_memory(device uint* own [[buffer(0)]],
                                 uint i [[thread_position_in_grid]]) {
    own[(size_t(1) << 45) + i] = 1u;
}
