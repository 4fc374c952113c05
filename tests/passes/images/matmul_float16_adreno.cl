#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel __attribute__((reqd_work_group_size(4, 16, 1))) void r_16_4_4_4_4_081de360c704(__write_only image2d_t data0, __read_only image2d_t data1, __read_only image2d_t data2) {
  const sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int local0 = get_local_id(0);
  int local1 = get_local_id(1);
  int2 stack0 = (int2)(local0, local1);
  half4 acc0 = (half4)(((half)(-0.0f)));
  for (int r0_o = 0; r0_o < 4; r0_o++) {
    half4 read0 = read_imageh(data1, sampler, (int2)(r0_o, local1));
    int mul0 = r0_o * 4;
    half4 add0 = (acc0 + (((half4)(read0.s0)) * read_imageh(data2, sampler, (int2)(local0, mul0)))) + (((half4)(read0.s1)) * read_imageh(data2, sampler, (int2)(local0, mul0 + 1)));
    half4 add1 = (add0 + (((half4)(read0.s2)) * read_imageh(data2, sampler, (int2)(local0, mul0 + 2)))) + (((half4)(read0.s3)) * read_imageh(data2, sampler, (int2)(local0, mul0 + 3)));
    acc0 = add1;
  }
  write_imageh(data0, stack0, acc0);
}
