#pragma OPENCL FP_CONTRACT OFF
static float8 amd_wmma16x16x16_bf16(ushort16 a, ushort16 b, float8 c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(as_short16(a), as_short16(b), c);
}
__kernel __attribute__((reqd_work_group_size(16, 2, 1))) void r_2_2_16_2_16_8_efdfae5663de(__global float *restrict data0, const __global ushort *restrict data1, const __global ushort *restrict data2) {
  int group0 = get_group_id(0);
  int local1 = get_local_id(1);
  int local0 = get_local_id(0);
  int add0 = ((group0 * 256) + (local1 * 16)) + local0;
  int mod0 = local0 % 2;
  int mod1 = (local0 / 2) % 2;
  int mod2 = (local0 / 4) % 2;
  int idiv0 = local0 / 8;
  int add1 = ((((group0 * 512) + (mod0 * 32)) + (mod1 * 64)) + (mod2 * 128)) + (idiv0 * 256);
  int add2 = ((mod0 + (mod1 * 2)) + (mod2 * 4)) + (idiv0 * 8);
  float8 acc0 = (float8)((-0.0f));
  for (int r0_o = 0; r0_o < 2; r0_o++) {
    int add3 = add2 + (r0_o * 256);
    ushort16 stack0 = (ushort16)(data2[add3], data2[add3 + 16], data2[add3 + 32], data2[add3 + 48], data2[add3 + 64], data2[add3 + 80], data2[add3 + 96], data2[add3 + 112], data2[add3 + 128], data2[add3 + 144], data2[add3 + 160], data2[add3 + 176], data2[add3 + 192], data2[add3 + 208], data2[add3 + 224], data2[add3 + 240]);
    float8 wmma0 = amd_wmma16x16x16_bf16(as_ushort16(vload16(0, data1 + (add1 + (r0_o * 16)))), as_ushort16(stack0), acc0);
    acc0 = wmma0;
  }
  data0[add0] = acc0.s0;
  data0[add0 + 32] = acc0.s1;
  data0[add0 + 64] = acc0.s2;
  data0[add0 + 96] = acc0.s3;
  data0[add0 + 128] = acc0.s4;
  data0[add0 + 160] = acc0.s5;
  data0[add0 + 192] = acc0.s6;
  data0[add0 + 224] = acc0.s7;
}
