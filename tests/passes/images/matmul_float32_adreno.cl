#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(4, 16, 1))) void r_16_4_4_4_4_917d7025a4de(__write_only image2d_t data0, __read_only image2d_t data1, __read_only image2d_t data2) {
  const sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int local0 = get_local_id(0);
  int local1 = get_local_id(1);
  int2 stack0 = (int2)(local0, local1);
  float4 acc0 = (float4)((-0.0f));
  for (int r0_o = 0; r0_o < 4; r0_o++) {
    float4 read0 = read_imagef(data1, sampler, (int2)(r0_o, local1));
    int mul0 = r0_o * 4;
    float4 mulacc0 = fma((float4)(read0.s1), read_imagef(data2, sampler, (int2)(local0, mul0 + 1)), fma((float4)(read0.s0), read_imagef(data2, sampler, (int2)(local0, mul0)), acc0));
    float4 mulacc1 = fma((float4)(read0.s3), read_imagef(data2, sampler, (int2)(local0, mul0 + 3)), fma((float4)(read0.s2), read_imagef(data2, sampler, (int2)(local0, mul0 + 2)), mulacc0));
    acc0 = mulacc1;
  }
  write_imagef(data0, stack0, acc0);
}
