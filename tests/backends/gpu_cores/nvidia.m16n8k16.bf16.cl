#pragma OPENCL FP_CONTRACT OFF
static float4 nvidia_m16n8k16_bf16(ushort8 a, ushort4 b, float4 c) {
  const uint4 x = as_uint4(a);
  const uint2 y = as_uint2(b);
  float c0 = c.s0, c1 = c.s1, c2 = c.s2, c3 = c.s3;
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
          : "r"(x.s0), "r"(x.s1), "r"(x.s2), "r"(x.s3), "r"(y.s0), "r"(y.s1));
  return (float4)(c0, c1, c2, c3);
}
__kernel __attribute__((reqd_work_group_size(4, 8, 1))) void r_2_8_4_2_16_2_2_20d0e070deae(__global float *restrict data0, const __global ushort *restrict data1, const __global ushort *restrict data2) {
  int group0 = get_group_id(0);
  int local1 = get_local_id(1);
  int local0 = get_local_id(0);
  int add0 = ((group0 * 128) + (local1 * 8)) + (local0 * 2);
  int mod0 = local1 % 2;
  int mod1 = (local1 / 2) % 2;
  int idiv0 = local1 / 4;
  int add1 = (((group0 * 512) + (mod0 * 32)) + (mod1 * 64)) + (idiv0 * 128);
  int mod2 = local0 % 2;
  int mul0 = mod2 * 2;
  int idiv1 = local0 / 2;
  int mul1 = idiv1 * 4;
  int add2 = (mod0 + (mod1 * 2)) + (idiv0 * 4);
  int mul2 = mod2 * 16;
  int mul3 = idiv1 * 32;
  float4 acc0 = (float4)((-0.0f));
  for (int r0_o = 0; r0_o < 2; r0_o++) {
    int add3 = ((add1 + (r0_o * 16)) + mul0) + mul1;
    ushort2 read0 = vload2(0, data1 + add3);
    ushort2 read1 = vload2(0, data1 + (add3 + 256));
    ushort2 read2 = vload2(0, data1 + (add3 + 8));
    ushort2 read3 = vload2(0, data1 + (add3 + 264));
    ushort8 bitcast0 = as_ushort8((ushort8)(read0.s0, read0.s1, read1.s0, read1.s1, read2.s0, read2.s1, read3.s0, read3.s1));
    int add4 = ((add2 + (r0_o * 128)) + mul2) + mul3;
    float4 wmma0 = nvidia_m16n8k16_bf16(bitcast0, as_ushort4((ushort4)(data2[add4], data2[add4 + 8], data2[add4 + 64], data2[add4 + 72])), acc0);
    acc0 = wmma0;
  }
  vstore2((float2)(acc0.s0, acc0.s1), 0, data0 + add0);
  vstore2((float2)(acc0.s2, acc0.s3), 0, data0 + (add0 + 64));
}
