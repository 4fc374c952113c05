#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
static float4 amd_mfma16x16x16_f16(half4 a, half4 b, float4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x16f16(as_half4(a), as_half4(b), c, 0, 0, 0);
}
__kernel __attribute__((reqd_work_group_size(16, 4, 1))) void r_2_4_16_2_16_4_620ec0f95303(__global float *restrict data0, const __global half *restrict data1, const __global half *restrict data2) {
  int group0 = get_group_id(0);
  int local1 = get_local_id(1);
  int local0 = get_local_id(0);
  int add0 = ((group0 * 256) + (local1 * 64)) + local0;
  int mod0 = local0 % 2;
  int mod1 = (local0 / 2) % 2;
  int mod2 = (local0 / 4) % 2;
  int idiv0 = local0 / 8;
  int add1 = ((((group0 * 512) + (mod0 * 32)) + (mod1 * 64)) + (mod2 * 128)) + (idiv0 * 256);
  int mod3 = local1 % 2;
  int mul0 = mod3 * 4;
  int idiv1 = local1 / 2;
  int mul1 = idiv1 * 8;
  int add2 = ((mod0 + (mod1 * 2)) + (mod2 * 4)) + (idiv0 * 8);
  int mul2 = mod3 * 64;
  int mul3 = idiv1 * 128;
  float4 acc0 = (float4)((-0.0f));
  for (int r0_o = 0; r0_o < 2; r0_o++) {
    int add3 = ((add2 + (r0_o * 256)) + mul2) + mul3;
    float4 wmma0 = amd_mfma16x16x16_f16(vload4(0, data1 + (((add1 + (r0_o * 16)) + mul0) + mul1)), (half4)(data2[add3], data2[add3 + 16], data2[add3 + 32], data2[add3 + 48]), acc0);
    acc0 = wmma0;
  }
  data0[add0] = acc0.s0;
  data0[add0 + 16] = acc0.s1;
  data0[add0 + 32] = acc0.s2;
  data0[add0 + 48] = acc0.s3;
}
