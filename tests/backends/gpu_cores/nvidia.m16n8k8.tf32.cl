#pragma OPENCL FP_CONTRACT OFF
static float4 nvidia_m16n8k8_tf32(float4 a, float2 b, float4 c) {
  const uint4 x = as_uint4(a);
  const uint2 y = as_uint2(b);
  float c0 = c.s0, c1 = c.s1, c2 = c.s2, c3 = c.s3;
  __asm__ volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
          : "r"(x.s0), "r"(x.s1), "r"(x.s2), "r"(x.s3), "r"(y.s0), "r"(y.s1));
  return (float4)(c0, c1, c2, c3);
}
__kernel __attribute__((reqd_work_group_size(4, 8, 1))) void r_2_8_4_2_8_2_2_d3f4b27fc268(__global float *restrict data0, const __global float *restrict data1, const __global float *restrict data2) {
  int group0 = get_group_id(0);
  int local1 = get_local_id(1);
  int local0 = get_local_id(0);
  int add0 = ((group0 * 128) + (local1 * 8)) + (local0 * 2);
  int mod0 = local1 % 2;
  int mod1 = (local1 / 2) % 2;
  int idiv0 = local1 / 4;
  int add1 = (((group0 * 256) + (mod0 * 16)) + (mod1 * 32)) + (idiv0 * 64);
  int mod2 = local0 % 2;
  int idiv1 = local0 / 2;
  int mul0 = idiv1 * 2;
  int add2 = (mod0 + (mod1 * 2)) + (idiv0 * 4);
  int mul1 = mod2 * 8;
  int mul2 = idiv1 * 16;
  float4 acc0 = (float4)((-0.0f));
  for (int r0_o = 0; r0_o < 2; r0_o++) {
    int add3 = ((add1 + (r0_o * 8)) + mod2) + mul0;
    int add4 = ((add2 + (r0_o * 64)) + mul1) + mul2;
    float4 wmma0 = nvidia_m16n8k8_tf32((float4)(data1[add3], data1[add3 + 128], data1[add3 + 4], data1[add3 + 132]), (float2)(data2[add4], data2[add4 + 32]), acc0);
    acc0 = wmma0;
  }
  vstore2((float2)(acc0.s0, acc0.s1), 0, data0 + add0);
  vstore2((float2)(acc0.s2, acc0.s3), 0, data0 + (add0 + 64));
}
