// SPDX-License-Identifier: BSD-3-Clause
#include "base/robust.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

double robust_median(double *values, unsigned n)
{
    if (n == 0) {
        return 0;
    }
    qsort(values, n, sizeof *values, compare_doubles);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double robust_deviation(double *values, unsigned n)
{
    const double middle = robust_median(values, n);

    for (unsigned i = 0; i < n; i++) {
        values[i] = fabs(values[i] - middle);
    }
    return robust_median(values, n);
}
