"""Casts to and from floating point formats of any width, as a class and as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops.generic_floats import PARAMETERS, Layout, pack, quantise, unpack

#: names of the distributions of noise -> whether stochastic rounding with them is implemented
_DENSITIES = {"Invalid": True, "Uniform": True, "Bernoulli": True}
_STORAGE = {"fp32": tf.float32, "fp16": tf.float16}


class GenericFloat:
    """Rounds tensors to a format.

    Args:
        man: bits of mantissa.
        exp: bits of exponent.
        bias: of the exponent.
        en_denorm: whether there are denormals.
        en_inf: whether the largest exponent means infinity or NaN.
        calc_type: "auto", "fp16" or "fp32": what the device computes with. Here it is always float32, which gives the
            same numbers.
        name: for scopes.

    Raises:
        RuntimeError: the format cannot be computed with `calc_type`.
    """

    def __init__(
        self,
        man: int = 10,
        exp: int = 5,
        bias: int = 15,
        en_denorm: bool = True,
        en_inf: bool = True,
        calc_type: str = "auto",
        name: str | None = None,
    ) -> None:
        self._layout = Layout(man, exp, bias, en_denorm, en_inf and exp > 0)
        self._calc_type, self._name = calc_type, name
        self.set_param()

    def set_param(self) -> None:
        """Decide how numbers of the format are stored."""
        man, exp = self._layout.man, self._layout.exp
        wide = exp > 5 or man > 10 or (exp == 5 and man == 10)
        if self._calc_type not in ("auto", *_STORAGE):
            raise RuntimeError(f"Gfloat calculation type not supported: {self._calc_type!r}.")
        if wide and self._calc_type == "fp16":
            raise RuntimeError("Gfloat format cannot be generated using IEEE FP16: it has too many bits.")
        self._calc = _STORAGE.get(self._calc_type, tf.float32 if wide else tf.float16)
        half = exp == 5 and man == 10
        self._native = tf.float32 if wide and not (half and self._layout.en_inf) else tf.float16
        self._packed = not half and man + exp < (16 if wide else 8)
        if half:
            self._storage = tf.float16
        elif self._packed:
            self._storage = tf.int8 if man + exp < 8 else tf.int16
        else:
            self._storage = tf.float32 if wide else tf.float16

    def reset(self) -> None:
        """Decide again."""
        self.set_param()

    def cast_native_to_gfloat(
        self,
        inputs: Any,
        en_nanoo: bool = True,
        round_mode: str = "RN",
        sr_density: str = "Invalid",
        sr_bits: int = 23,
        sr_norm_offset: float = 0.0,
        sr_norm_scale: float = 1.0,
        sr_norm_min: float = -0.5,
        sr_norm_max: float = 0.5,
        sr_prob: float = 1.0,
        storage_type: str = "auto",
    ) -> Any:
        """Round a tensor.

        Args:
            inputs: the tensor.
            en_nanoo: whether what is too large becomes NaN.
            round_mode: "RZ", "RN", "RA", "RU", "RD", "SR" or "SX".
            sr_density: the distribution of the noise: uniform, or "Bernoulli".
            sr_bits: how many bits the uniform noise has.
            sr_norm_offset: of distributions that are not here.
            sr_norm_scale: the same.
            sr_norm_min: the same.
            sr_norm_max: the same.
            sr_prob: with "Bernoulli", the probability of rounding towards zero.
            storage_type: "auto" (as the format is stored), "fp32" or "fp16".

        Raises:
            RuntimeWarning: `en_nanoo`, and the format has no NaN.
            RuntimeError: the storage type is unknown.
        """
        if en_nanoo and not self._layout.en_inf:
            raise RuntimeWarning(
                "This format has no infinity and no NaN: NaN and infinity become 0, and what is too large becomes the "
                "largest number. Set en_nanoo=False."
            )
        if storage_type != "auto" and storage_type not in _STORAGE:
            raise RuntimeError(f"Gfloat storage format not supported: {storage_type!r}.")
        return cast_native_to_gfloat(
            inputs,
            self._layout.parameters,
            en_nanoo,
            round_mode,
            sr_bits,
            sr_density,
            sr_norm_offset,
            sr_norm_scale,
            sr_norm_min,
            sr_norm_max,
            sr_prob,
            calc_type=self._calc,
            out_type=_STORAGE.get(storage_type, self._storage),
        )

    def cast_gfloat_to_native(self, inputs: Any, storage_type: str = "auto") -> Any:
        """The numbers of a tensor of integers; other tensors as they are."""
        if not self._packed:
            return inputs
        out_type = _STORAGE.get(storage_type, self._native)
        return cast_gfloat_to_native(inputs, self._layout.parameters, calc_type=self._calc, out_type=out_type)

    def get_cast_native_to_gfloat_fun(self, **options: Any) -> Callable[[Any], Any]:
        """`cast_native_to_gfloat` with these options, as a function of the tensor."""
        return lambda inputs: self.cast_native_to_gfloat(inputs, **options)

    def get_cast_gfloat_to_native_fun(self, storage_type: str = "auto") -> Callable[[Any], Any]:
        """`cast_gfloat_to_native` as a function of the tensor."""
        return lambda inputs: self.cast_gfloat_to_native(inputs, storage_type=storage_type)

    def get_gfloat_storage_dtype(self) -> Any:
        """The type in which the format is stored."""
        return self._storage

    def get_gfloat_calc_dtype(self) -> Any:
        """The type that the device computes with."""
        return self._calc

    def get_gfloat_native_dtype(self) -> Any:
        """The type of unpacked numbers."""
        return self._native

    def get_cast_to_gfloat_params(self) -> Any:
        """The vector that describes the format to the functions."""
        return self._layout.parameters

    def get_gfloat_cast_param_size(self) -> int:
        """The length of that vector."""
        return PARAMETERS

    def get_gfloat_packed_params(self) -> int:
        """The format in one number."""
        return self._layout.packed

    def get_mantissa_size(self) -> int:
        """Bits of mantissa."""
        return self._layout.man

    def get_exponent_size(self) -> int:
        """Bits of exponent."""
        return self._layout.exp

    def get_exponent_bias(self) -> int:
        """The bias."""
        return self._layout.bias

    def get_en_denorms(self) -> bool:
        """Whether there are denormals."""
        return self._layout.en_denorm

    def get_en_inf(self) -> bool:
        """Whether there are infinity and NaN."""
        return self._layout.en_inf

    def is_packed_float(self) -> bool:
        """Whether numbers are stored as integers."""
        return self._packed

    @staticmethod
    def get_gfloat_param_size(calc_type: Any) -> int:
        """The length of the vector that describes a format."""
        if calc_type not in (tf.float16, tf.float32):
            raise RuntimeError(f"Gfloat format calculation type not supported: {calc_type}.")
        return PARAMETERS


def cast_native_to_gfloat(
    inputs: Any,
    params: Any,
    en_nanoo: bool = True,
    round_mode: str = "RN",
    sr_bits: int = 23,
    sr_density: str = "Invalid",
    sr_norm_offset: float = 0.0,
    sr_norm_scale: float = 1.0,
    sr_norm_min: float = -0.5,
    sr_norm_max: float = 0.5,
    sr_prob: float = 1.0,
    gfloat_format: str = "Invalid",
    calc_type: Any = tf.float32,
    out_type: Any = tf.float32,
) -> Any:
    """Round a tensor to the format that `calc_gfloat_params` describes; the gradient passes through."""
    layout = _layout(params)
    out_type = tf.as_dtype(out_type)
    noise = _noise(sr_density, sr_bits, sr_prob)

    @tf.custom_gradient
    def cast(values: Any) -> Any:
        rounded = quantise(values, layout, round_mode, en_nanoo and layout.en_inf, noise)
        result = pack(rounded, layout, out_type) if out_type.is_integer else tf.cast(rounded, out_type)
        return result, lambda gradient: tf.cast(gradient, values.dtype)

    return cast(tf.convert_to_tensor(inputs))


def cast_gfloat_to_native(
    inputs: Any,
    params: Any,
    gfloat_format: str = "Invalid",
    calc_type: Any = tf.float32,
    out_type: Any = tf.float32,
) -> Any:
    """The numbers of integers that `cast_native_to_gfloat` has made."""
    return tf.cast(unpack(tf.convert_to_tensor(inputs), _layout(params)), out_type)


def calc_gfloat_params(
    man: int = 10,
    exp: int = 5,
    bias: int = 15,
    en_denorm: bool = True,
    en_inf: bool = True,
    calc_type: Any = tf.float32,
) -> Any:
    """The vector that describes a format."""
    GenericFloat.get_gfloat_param_size(calc_type)
    return tf.constant(Layout(man, exp, bias, en_denorm, en_inf and exp > 0).parameters)


def _layout(params: Any) -> Layout:
    vector = tf.get_static_value(params) if tf.is_tensor(params) else np.asarray(params)
    if vector is None:
        raise ValueError("The parameters of a generic float have to be known when the graph is built.")
    return Layout.unpacked(int(vector[0]))


def _noise(density: str, bits: int, probability: float) -> Callable[[Any], Any]:
    if density not in _DENSITIES:
        raise NotImplementedError(
            f"Stochastic rounding with {density!r} noise is not here; there are: {', '.join(list(_DENSITIES)[1:])}."
        )

    def drawn(shape: Any) -> Any:
        uniform = tf.random.uniform(shape)
        if density == "Bernoulli":
            return tf.cast(uniform >= probability, tf.float32)
        return tf.floor(uniform * 2.0**bits) / 2.0**bits

    return drawn
