#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;
static float2 apple_simdgroup8x8_f32(float2 a, float2 b, float2 c) {
  simdgroup_float8x8 x, y;
  simdgroup_float8x8 z;
  x.thread_elements() = a;
  y.thread_elements() = b;
  z.thread_elements() = c;
  simdgroup_multiply_accumulate(z, x, y, z);
  return z.thread_elements();
}
[[max_total_threads_per_threadgroup(32)]]
kernel void r_2_2_2_4_2_2_8_2_d5b49106090c(device float *data0 [[buffer(0)]], const device float *data1 [[buffer(1)]], const device float *data2 [[buffer(2)]], uint3 group [[threadgroup_position_in_grid]], uint3 inside [[thread_position_in_threadgroup]]) {
  int group0 = group.x;
  int local2 = inside.z;
  int idiv0 = local2 / 2;
  int mul0 = idiv0 * 32;
  int local1 = inside.y;
  int mul1 = (local2 % 2) * 4;
  int local0 = inside.x;
  int mul2 = local0 * 2;
  int add0 = ((((group0 * 64) + mul0) + (local1 * 8)) + mul1) + mul2;
  int mod0 = local1 % 2;
  int idiv1 = local1 / 2;
  int add1 = (((group0 * 128) + (mod0 * 16)) + (idiv1 * 32)) + (idiv0 * 64);
  int add2 = mul2 + mul1;
  int mul3 = mod0 * 8;
  int mul4 = idiv1 * 16;
  float2 acc0 = float2((-0.0f));
  for (int r0_o = 0; r0_o < 2; r0_o++) {
    float2 wmma0 = apple_simdgroup8x8_f32(float2(*(const device packed_float2*)(data1 + (((add1 + (r0_o * 8)) + mul2) + mul1))), float2(*(const device packed_float2*)(data2 + ((((add2 + (r0_o * 64)) + mul3) + mul4) + mul0))), acc0);
    acc0 = wmma0;
  }
  *(device packed_float2*)(data0 + add0) = acc0;
}
