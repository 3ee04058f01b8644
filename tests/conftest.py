"""One Hypothesis profile for all property tests: no deadlines, and in CI the same examples every time."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "simgather",
    deadline=None,
    max_examples=60,
    derandomize=os.environ.get("CI") == "true",
    # A scenario is a deep value; that drawing one takes a while is no fault of a law.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
settings.load_profile("simgather")
