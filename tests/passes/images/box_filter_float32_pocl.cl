#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void r_8_8_3_3_4_e10ba3e7bfb9(__write_only image2d_t data0, __read_only image2d_t data1) {
  const sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int local0 = get_local_id(0);
  int local1 = get_local_id(1);
  int2 stack0 = (int2)(local0, local1);
  int add0 = local0 + (-1);
  int add1 = local1 + (-1);
  float4 add2 = read_imagef(data1, sampler, (int2)(add0, add1)) + read_imagef(data1, sampler, (int2)(add0, local1));
  int add3 = local1 + 1;
  float4 add4 = (add2 + read_imagef(data1, sampler, (int2)(add0, add3))) + read_imagef(data1, sampler, (int2)(local0, add1));
  int add5 = local0 + 1;
  float4 add6 = ((add4 + read_imagef(data1, sampler, stack0)) + read_imagef(data1, sampler, (int2)(local0, add3))) + read_imagef(data1, sampler, (int2)(add5, add1));
  float4 add7 = (add6 + read_imagef(data1, sampler, (int2)(add5, local1))) + read_imagef(data1, sampler, (int2)(add5, add3));
  write_imagef(data0, stack0, add7);
}
