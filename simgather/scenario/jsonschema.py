"""The scenario file as a JSON Schema (draft 2020-12): what people write, not what the program makes of it.

It is generated from the same types that validate, so it cannot drift from them. It knows keys, shapes and units; ranges
of quantities and checks across keys are the loader's alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from simgather.scenario.schema import Scenario


class _Written(GenerateJsonSchema):
    """Leaves out what describes the inside: titles, null (a key is given or absent), and defaults not worth a word."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  the signature is pydantic's
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        return {key: value for key, value in described.items() if key not in ("title", "description")}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        described = super().dict_schema(schema)
        return described | ({"additionalProperties": False} if "patternProperties" in described else {})

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = self.generate_inner(schema["schema"])
        default = schema.get("default")
        if isinstance(default, bool | str) or (isinstance(default, int) and default):
            return {**described, "default": default}
        return described

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        return {"anyOf": [self.generate_inner(branch) for branch in schema["choices"].values()]}


@cache
def _generated() -> JsonSchemaValue:
    return Scenario.model_json_schema(schema_generator=_Written)


def json_schema() -> dict[str, Any]:
    """A fresh copy of the schema, for editors and other tools."""
    return {
        "$schema": _Written.schema_dialect,
        "title": "simgather scenario",
        "description": "Bucketed parameter all-gather overlap in data-parallel training.",
        **_copy(_generated()),
    }


def keys_at(path: tuple[str | int, ...]) -> dict[str, dict[str, Any]]:
    """The keys a scenario may have in the mapping at `path`, each with its schema. Empty where there is no mapping."""
    schemas = [_generated()]
    for part in path:
        schemas = [found for schema in _branches(schemas) for found in _below(schema, part)]
    return {key: found for schema in _branches(schemas) for key, found in schema.get("properties", {}).items()}


def _branches(schemas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The alternatives among `schemas`, references followed."""
    found = []
    for schema in schemas:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        inner = [_generated()["$defs"][name]] if name else schema.get("anyOf", [])
        found += _branches(inner) if inner else [schema]
    return found


def _below(schema: dict[str, Any], part: str | int) -> list[dict[str, Any]]:
    if isinstance(part, int) and "items" in schema:
        return [schema["items"]]
    if part in schema.get("properties", {}):
        return [schema["properties"][part]]
    others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    return [other for other in others if isinstance(other, dict)]


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
