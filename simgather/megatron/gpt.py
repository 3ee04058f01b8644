"""A Megatron-core GPT: what it registers, what its forward pass runs, and how much work that is.

Registration order differs from execution order in one place: ``linear_proj`` is registered before ``linear_qkv`` but
runs after it. Both orders were recorded from Megatron-core's own classes, releases 0.8 and 0.16.
"""

from __future__ import annotations

from dataclasses import dataclass

from simgather.megatron.config import GptConfig, Spec
from simgather.workload.model import Parameter, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModule:
    """A module with its own parameters (names relative to it) and the work of one microbatch."""

    name: str
    parameters: tuple[Parameter, ...]
    forward: Work
    backward: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedUse:
    """One step of the forward pass; `module` is an index into the model's modules.

    A `functional` use multiplies by the module's weight without calling the module, so no hook runs: the tied output
    layer does that with the word embedding.
    """

    module: int
    functional: bool
    name: str
    forward: Work
    backward: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class GptModel:
    """`modules` in registration order, `order` in execution order."""

    modules: tuple[PlannedModule, ...]
    order: tuple[PlannedUse, ...]


def build_gpt(config: GptConfig, spec: Spec) -> GptModel:
    """Plan the model that Megatron-core builds for `config` with the layer specification `spec`.

    Modules without parameters and without a large kernel (dropout, activation functions) are left out.
    """
    plan = _Plan(config, fused_norms=spec == "transformer_engine")
    h = config.hidden_size
    executed = [plan.embedding("embedding.word_embeddings", config.padded_vocab_size)]
    if config.position_embedding == "learned_absolute":
        executed.append(plan.embedding("embedding.position_embeddings", config.max_position_embeddings))
    for number in range(config.num_layers):
        executed += plan.layer(f"decoder.layers.{number}")
    executed.append(plan.norm("decoder.final_layernorm", h, config.tokens * h))
    if config.tied:
        order = [plan.call(index) for index in executed]
        order.append(_use(executed[0], "output_layer", plan.matmul(h, config.padded_vocab_size), functional=True))
    else:
        executed.append(plan.linear("output_layer", h, config.padded_vocab_size, bias=False))
        order = [plan.call(index) for index in executed]
    return GptModel(modules=tuple(plan.modules), order=tuple(order))


class _Plan:
    """The modules registered so far; every method registers some and returns their indices."""

    def __init__(self, config: GptConfig, *, fused_norms: bool) -> None:
        self.modules: list[PlannedModule] = []
        self._config = config
        self._fused_norms = fused_norms

    def layer(self, name: str) -> list[int]:
        """One transformer layer; the indices are in execution order."""
        config = self._config
        h, ffn = config.hidden_size, config.ffn_hidden_size
        attention, mlp = f"{name}.self_attention", f"{name}.mlp"
        executed = self._norm_unless_fused(f"{name}.input_layernorm")
        core = self._core_attention(f"{attention}.core_attention")
        proj = self.linear(f"{attention}.linear_proj", config.query_size, h, bias=config.linear_bias)
        qkv = self.linear(
            f"{attention}.linear_qkv",
            h,
            config.query_size + 2 * config.key_size,
            bias=config.qkv_bias,
            fused_norm=self._fused_norms,
        )
        executed.append(qkv)
        if config.qk_layernorm:
            for part, width in (("q", config.query_size), ("k", config.key_size)):
                executed.append(self.norm(f"{attention}.{part}_layernorm", config.kv_channels, config.tokens * width))
        executed += [core, proj, *self._norm_unless_fused(f"{name}.pre_mlp_layernorm")]
        fc1_width = 2 * ffn if config.swiglu else ffn
        executed.append(
            self.linear(f"{mlp}.linear_fc1", h, fc1_width, bias=config.linear_bias, fused_norm=self._fused_norms)
        )
        executed.append(self.linear(f"{mlp}.linear_fc2", ffn, h, bias=config.linear_bias))
        return executed

    def linear(self, name: str, inputs: int, outputs: int, *, bias: bool, fused_norm: bool = False) -> int:
        """A matrix multiplication; a norm fused into it comes first, among the parameters too."""
        work = self.matmul(inputs, outputs)
        parameters: list[Parameter] = []
        if fused_norm:
            norm = self._norm_work(inputs, self._config.tokens * inputs)
            work = Work(flops=work.flops, bytes=work.bytes + norm.bytes)
            parameters += self._norm_parameters("layer_norm_", inputs)
        parameters.append(Parameter(name="weight", shape=(outputs, inputs)))
        if bias:
            parameters.append(Parameter(name="bias", shape=(outputs,)))
        return self._register(name, parameters, work)

    def norm(self, name: str, width: int, elements: int) -> int:
        """A norm over the last `width` of `elements` elements."""
        return self._register(name, self._norm_parameters("", width), self._norm_work(width, elements))

    def embedding(self, name: str, rows: int) -> int:
        """A table of which every token reads one row and writes it out."""
        h = self._config.hidden_size
        work = Work(bytes=2 * self._config.tokens * h * self._config.element_bytes)
        return self._register(name, [Parameter(name="weight", shape=(rows, h))], work)

    def matmul(self, inputs: int, outputs: int) -> Work:
        """The tokens of a microbatch times a weight: read input and weight, write output."""
        tokens = self._config.tokens
        elements = tokens * inputs + inputs * outputs + tokens * outputs
        return Work(flops=2 * tokens * inputs * outputs, bytes=elements * self._config.element_bytes)

    def call(self, index: int) -> PlannedUse:
        """The module runs."""
        return _use(index, self.modules[index].name, self.modules[index].forward, functional=False)

    def _norm_unless_fused(self, name: str) -> list[int]:
        h = self._config.hidden_size
        return [] if self._fused_norms else [self.norm(name, h, self._config.tokens * h)]

    def _core_attention(self, name: str) -> int:
        """Causal flash attention: half of the scores, and these never leave the chip."""
        config = self._config
        flops = 2 * config.tokens * config.seq_length * config.query_size
        elements = config.tokens * 2 * (config.query_size + config.key_size)
        return self._register(name, [], Work(flops=flops, bytes=elements * config.element_bytes))

    def _norm_parameters(self, prefix: str, width: int) -> list[Parameter]:
        names = ("weight",) if self._config.normalization == "RMSNorm" else ("weight", "bias")
        return [Parameter(name=prefix + name, shape=(width,)) for name in names]

    def _norm_work(self, width: int, elements: int) -> Work:
        """Memory bound: the elements in and out, and the parameters."""
        parameters = sum(parameter.numel for parameter in self._norm_parameters("", width))
        return Work(bytes=(2 * elements + parameters) * self._config.element_bytes)

    def _register(self, name: str, parameters: list[Parameter], forward: Work) -> int:
        self.modules.append(
            PlannedModule(name=name, parameters=tuple(parameters), forward=forward, backward=_twice(forward))
        )
        return len(self.modules) - 1


def _use(index: int, name: str, forward: Work, *, functional: bool) -> PlannedUse:
    return PlannedUse(module=index, functional=functional, name=name, forward=forward, backward=_twice(forward))


def _twice(forward: Work) -> Work:
    """Backward computes the gradients of both the input and the weight."""
    return Work(flops=2 * forward.flops, bytes=2 * forward.bytes)
