#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroup_matrix_multiply_accumulate : enable
static float8 intel_dpas8x8x16_f16(half16 a, half16 b, float8 c) {
  return intel_sub_group_f16_f16_matrix_mad_k16(as_int8(a), as_int8(b), c);
}
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) __attribute__((intel_reqd_sub_group_size(8))) void r_2_8_2_16_8_68191da80347(__global float *restrict data0, const __global half *restrict data1, const __global half *restrict data2) {
  int group0 = get_group_id(0);
  int local0 = get_local_id(0);
  int add0 = (group0 * 64) + local0;
  int mul0 = group0 * 256;
  int mod0 = local0 % 2;
  int mul1 = mod0 * 2;
  int mod1 = (local0 / 2) % 2;
  int mul2 = mod1 * 4;
  int idiv0 = local0 / 4;
  int mul3 = idiv0 * 8;
  int add1 = (mod0 + (mod1 * 2)) + (idiv0 * 4);
  float8 acc0 = (float8)((-0.0f));
  for (int r0_o = 0; r0_o < 2; r0_o++) {
    int add2 = (((mul0 + (r0_o * 16)) + mul1) + mul2) + mul3;
    half2 read0 = vload2(0, data1 + add2);
    half2 read1 = vload2(0, data1 + (add2 + 32));
    half2 read2 = vload2(0, data1 + (add2 + 64));
    half2 read3 = vload2(0, data1 + (add2 + 96));
    half2 read4 = vload2(0, data1 + (add2 + 128));
    half2 read5 = vload2(0, data1 + (add2 + 160));
    half2 read6 = vload2(0, data1 + (add2 + 192));
    half2 read7 = vload2(0, data1 + (add2 + 224));
    half16 stack0 = (half16)(read0.s0, read0.s1, read1.s0, read1.s1, read2.s0, read2.s1, read3.s0, read3.s1, read4.s0, read4.s1, read5.s0, read5.s1, read6.s0, read6.s1, read7.s0, read7.s1);
    int add3 = add1 + (r0_o * 128);
    half16 stack1 = (half16)(data2[add3], data2[add3 + 8], data2[add3 + 16], data2[add3 + 24], data2[add3 + 32], data2[add3 + 40], data2[add3 + 48], data2[add3 + 56], data2[add3 + 64], data2[add3 + 72], data2[add3 + 80], data2[add3 + 88], data2[add3 + 96], data2[add3 + 104], data2[add3 + 112], data2[add3 + 120]);
    acc0 = intel_dpas8x8x16_f16(stack0, stack1, acc0);
  }
  data0[add0] = acc0.s0;
  data0[add0 + 8] = acc0.s1;
  data0[add0 + 16] = acc0.s2;
  data0[add0 + 24] = acc0.s3;
  data0[add0 + 32] = acc0.s4;
  data0[add0 + 40] = acc0.s5;
  data0[add0 + 48] = acc0.s6;
  data0[add0 + 56] = acc0.s7;
}
