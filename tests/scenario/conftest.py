from collections.abc import Callable
from pathlib import Path

import pytest

from simgather.errors import InputError
from simgather.scenario import load
from simgather.scenario.schema import Scenario

DESIGN_EXAMPLE = """\
name: A, C, B against buckets A, B, C
policy: megatron-core-0.8
iterations: 3
cluster:
  gpus: 4
  gather: {latency: 20 us, bus_bandwidth: 340 GB/s}
  host: {launch: 5 us, wait: 2 us, collective: 30 us}
  connections: 1
  compute_skew: [1, 1, 1.1, 1]
model:
  dtype: bf16
  modules:
    - {name: A, params: {weight: 67M}, forward: 1.2 ms}
    - {name: B, params: {weight: 67M}, forward: 1.2 ms}
    - {name: C, params: {weight: 67M}, forward: 1.2 ms}
buckets: {size: 40M}
forward: [A, C, B]
training: {microbatches: 1, recompute: none, optimizer: 1 ms, backward: true, gradient_sync: true}
"""


@pytest.fixture
def example() -> str:
    return DESIGN_EXAMPLE


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Scenario]:
    """Loads the example with some of its text replaced."""

    def load_changed(*replacements: tuple[str, str], overrides: tuple[str, ...] = ()) -> Scenario:
        text = DESIGN_EXAMPLE
        for old, new in replacements:
            assert text.count(old) >= 1, f"the example has no {old!r}"
            text = text.replace(old, new, 1)
        path = tmp_path / "s.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, overrides)

    return load_changed


@pytest.fixture
def refusal(changed: Callable[..., Scenario], tmp_path: Path) -> Callable[..., str]:
    """What the error says about the example with some of its text replaced, the folder left out."""

    def refuse(*replacements: tuple[str, str], overrides: tuple[str, ...] = ()) -> str:
        with pytest.raises(InputError) as caught:
            changed(*replacements, overrides=overrides)
        message = str(caught.value)
        assert message.isprintable()
        return message.replace(f"{tmp_path}/", "")

    return refuse
