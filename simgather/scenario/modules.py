"""What is trained: modules written out with their parameters, or a Megatron launch script."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, ConfigDict, Field, GetCoreSchemaHandler, PrivateAttr, Tag, model_validator
from pydantic_core import CoreSchema

from simgather.scenario.fields import Elements, Flag, Name, Section, Time, Whole, by_shape, problem, read_as
from simgather.units import COUNT

MAX_MODULES = 100_000


def _check_elements(shape: tuple[int, ...]) -> tuple[int, ...]:
    if prod(shape) > COUNT.most:
        raise problem(f"a parameter has at most {COUNT.exact(COUNT.most)} elements")
    return shape


_Dimension = Annotated[Whole, Field(ge=1, le=COUNT.most)]
_Shape = Annotated[tuple[_Dimension, ...], Field(min_length=1, max_length=8), AfterValidator(_check_elements)]


class _ParameterKeys(Section):
    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["elements"]}, {"required": ["shape"]}]})

    elements: Elements | None = Field(None, description="Number of elements, when the shape does not matter.")
    shape: _Shape | None = Field(None, description="Dimensions of the tensor.")
    frozen: Flag = Field(False, description="The parameter is not trained, so it is in no bucket.")
    shared_embedding: Flag = Field(False, description="The parameter is alone in its bucket (tied embeddings).")

    @model_validator(mode="after")
    def _check_form(self) -> _ParameterKeys:
        if (self.elements is None) == (self.shape is None):
            raise problem("needs exactly one of elements and shape")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpec:
    """A parameter of a module; one given by its number of elements has a shape of one dimension."""

    shape: tuple[int, ...]
    frozen: bool = False
    shared_embedding: bool = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_as(cls, cls._from_written, _ParameterWritten, handler)

    @classmethod
    def _from_written(cls, written: int | tuple[int, ...] | _ParameterKeys) -> ParameterSpec:
        if isinstance(written, int):
            return cls(shape=(written,))
        if isinstance(written, tuple):
            return cls(shape=written)
        shape = (written.elements,) if written.elements is not None else written.shape or ()
        return cls(shape=shape, frozen=written.frozen, shared_embedding=written.shared_embedding)


_ParameterWritten = Annotated[
    Annotated[Elements, Tag("parameter by elements")]
    | Annotated[_Shape, Tag("parameter by shape")]
    | Annotated[_ParameterKeys, Tag("parameter by keys")],
    by_shape(mapping="parameter by keys", listed="parameter by shape", other="parameter by elements"),
]


class ModuleSpec(Section):
    """A module with its own parameters. Durations are of its one kernel per pass, in ns; `backward_ns` None is 2x."""

    name: Name = Field(description="Name of the module, unique in the model.", examples=["A"])
    params: dict[Name, ParameterSpec] = Field(
        default_factory=dict,
        description="Parameters by name: a number of elements, a shape, or a mapping with either.",
    )
    forward_ns: Time = Field(alias="forward", description="Duration of the forward kernel.", examples=["1.2 ms"])
    backward_ns: Time | None = Field(
        None, alias="backward", description="Duration of the backward kernel; by default twice the forward's."
    )
    frozen: Flag = Field(False, description="No parameter of the module is trained.")


class ExplicitModel(Section):
    """Modules in registration order."""

    dtype: Literal["bf16", "fp16", "fp32", "fp8"] = Field("bf16", description="Data type of what is gathered.")
    modules: Annotated[tuple[ModuleSpec, ...], Field(min_length=1, max_length=MAX_MODULES)] = Field(
        description="The modules in registration order.",
        examples=["[{name: A, params: {weight: 67M}, forward: 1.2 ms}]"],
    )

    @model_validator(mode="after")
    def _check_names(self) -> ExplicitModel:
        first: dict[str, int] = {}
        for index, module in enumerate(self.modules):
            earlier = first.setdefault(module.name, index)
            if earlier != index:
                said = f"is also the name of model.modules[{earlier}]; module names are unique"
                raise problem(said, "modules", index, "name")
        return self


class ReadText(Protocol):
    """How a validation in progress reads a file named by the scenario; the context of `MegatronModel`."""

    def __call__(self, path: str) -> tuple[str, str]:
        """The file's text, and its path as the user would open it. Raises `ValueError` with a sentence."""
        ...


class MegatronModel(Section):
    """A model given by a Megatron launch script. Two are equal if their text and spec are, wherever the file lies."""

    megatron: Annotated[str, Field(min_length=1, max_length=4096)] = Field(
        description="File with the job's Megatron arguments, relative to the scenario file.", examples=["job.args"]
    )
    spec: Literal["local", "transformer_engine"] = Field(
        "transformer_engine", description="Layer implementation, which decides the modules and their order."
    )
    _text: str = PrivateAttr("")
    _source: str = PrivateAttr("")

    @property
    def text(self) -> str:
        """The content of the file."""
        return self._text

    @property
    def source(self) -> str:
        """The path of the file as shown to the user."""
        return self._source or self.megatron

    def model_post_init(self, context: ReadText | None, /) -> None:
        """Reads the file, when the loader says how."""
        if context is None:
            return
        try:
            self._text, self._source = context(self.megatron)
        except ValueError as error:
            raise problem(str(error), "megatron") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MegatronModel):
            return NotImplemented
        return (self.spec, self.text) == (other.spec, other.text)

    def __hash__(self) -> int:
        return hash((self.spec, self.text))
