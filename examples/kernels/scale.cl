// out = a + 1/4: a definition is text, not a value in parentheses
#define ONE 1.0f
#define SHIFT ONE + 0.25f
__kernel void scale(__global float *out, __global const float *a) {
    int i = get_global_id(0); /* one element */
    out[i] = a[i] * SHIFT;
}
