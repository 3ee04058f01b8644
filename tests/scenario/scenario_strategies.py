"""Valid scenarios as plain data, as people write them."""

from typing import Any

from hypothesis import strategies as st

from simgather.scenario.schema import POLICY_NAMES

names = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=8)
times = st.one_of(
    st.just(0),
    st.integers(0, 10**9).map("{} ns".format),
    st.decimals(0, 1000, places=3).map("{:f} ms".format),
    st.sampled_from(["1us", "5 µs", "1.5 s"]),
)
bandwidths = st.builds("{} {}".format, st.integers(1, 999), st.sampled_from(["MB/s", "GB/s", "GiB/s", "Gbit/s"]))
rates = st.builds("{} {}".format, st.integers(1, 999), st.sampled_from(["TFLOP/s", "GFLOP/s", "PFLOPS"]))
elements = st.one_of(st.integers(1, 10**12), st.sampled_from(["67M", "1.2B", "40 k", "40_000_000"]))
shapes = st.lists(st.integers(1, 1000), min_size=1, max_size=4)


def keys(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


flags = {"frozen": st.booleans(), "shared_embedding": st.booleans()}
parameters = st.one_of(elements, shapes, keys({"elements": elements}, **flags), keys({"shape": shapes}, **flags))
costs = st.one_of(
    keys({"latency": times, "bus_bandwidth": bandwidths}), keys({"times": st.lists(times, min_size=1, max_size=4)})
)
policies = st.one_of(
    st.sampled_from(POLICY_NAMES),
    keys({"name": st.sampled_from(POLICY_NAMES)}),
    keys({"name": st.just("prefetch"), "depth": st.integers(0, 10_000)}),
)
sizes = st.one_of(st.integers(1, 10**12), st.sampled_from(["none", "40M", "12G", "64 MiB", "128 MB", "40 bytes"]))
groups = st.lists(st.lists(names, min_size=1, max_size=3), min_size=1, max_size=3)
buckets = st.one_of(
    st.just("none"),
    keys({}, size=sizes, pad_for_high_nccl_busbw=st.booleans()),
    keys({"groups": groups}, pad_for_high_nccl_busbw=st.booleans()),
)
trainings = keys(
    {},
    microbatches=st.integers(1, 8),
    recompute=st.sampled_from(["none", "full"]),
    optimizer=times,
    backward=st.booleans(),
    gradient_sync=st.booleans(),
    hooks_in_first_iteration=st.booleans(),
)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    gpus = draw(st.integers(1, 6))
    iterations = draw(st.integers(1, 4))
    module_names = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    modules = [
        draw(keys({"name": st.just(name), "forward": times}, params=st.dictionaries(names, parameters, max_size=2),
                  backward=times, frozen=st.booleans()))
        for name in module_names
    ]  # fmt: skip
    module = st.sampled_from(module_names)
    use = st.one_of(module, keys({"functional": module}, name=names, forward=times, backward=times))
    order = st.lists(use, min_size=1, max_size=5)
    orders = st.one_of(order, st.lists(order, min_size=iterations, max_size=iterations))
    skew = st.lists(st.one_of(st.integers(1, 5), st.floats(0.01, 10)), min_size=gpus, max_size=gpus)
    cluster = keys(
        {"gpus": st.just(gpus), "gather": costs},
        reduce_scatter=costs,
        host=keys({}, launch=times, wait=times, collective=times),
        connections=st.integers(1, 32),
        compute_skew=skew,
        gpu=st.one_of(st.just("h100-sxm"), keys({"flops": rates, "memory_bandwidth": bandwidths})),
    )
    by_rank = keys({"per_rank": st.dictionaries(st.integers(0, gpus - 1), orders, min_size=1, max_size=2)})
    return draw(
        keys(
            {
                "policy": policies,
                "cluster": cluster,
                "iterations": st.just(iterations),
                "model": keys({"modules": st.just(modules)}, dtype=st.sampled_from(["bf16", "fp16", "fp32", "fp8"])),
            },
            name=names,
            buckets=buckets,
            forward=st.one_of(orders, by_rank),
            training=trainings,
        )
    )
