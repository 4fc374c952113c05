"""Programs of other people that take any array of the standard: SciPy and scikit-learn.

SciPy reads its switch when it is imported, so the program runs in a process of its own.
"""

import subprocess
import sys

PROGRAM = """
import os
os.environ["SCIPY_ARRAY_API"] = "1"
import numpy as np
import scipy.special, scipy.stats
from sklearn import config_context
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from compiler import Tensor

x = np.random.default_rng(3).random((6, 4))
FUNCTIONS = {
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "softmax": lambda x: scipy.special.softmax(x, axis=0),
    "zscore": scipy.stats.zscore,
    "gmean": scipy.stats.gmean,
    "rankdata": lambda x: scipy.stats.rankdata(x, axis=1),
    "ttest": lambda x: scipy.stats.ttest_1samp(x, 0.5).statistic,
    "pearsonr": lambda x: scipy.stats.pearsonr(x[0, :], x[1, :]).statistic,
    "standard": lambda x: StandardScaler().fit_transform(x),
    "least and greatest": lambda x: MinMaxScaler().fit_transform(x),
    "distances": euclidean_distances,
    "r2": lambda x: r2_score(x[:, 0], x[:, 1]),
}
with config_context(array_api_dispatch=True):
    for name, function in FUNCTIONS.items():
        mine, theirs = function(Tensor(x)), function(x)
        if getattr(theirs, "shape", ()):
            assert isinstance(mine, Tensor), name
        np.testing.assert_allclose(np.asarray(mine), theirs, rtol=1e-9, atol=1e-12, err_msg=name)
print(len(FUNCTIONS), "functions")
"""


def test_functions_of_scipy_and_scikit_learn_run_on_tensors():
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "11 functions\n"), found.stderr
