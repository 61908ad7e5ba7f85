"""Imports all families of ops; each registers its kinds."""

from __future__ import annotations

from tremula.frontends.popxl.ops import addons as addons
from tremula.frontends.popxl.ops import collectives as collectives
from tremula.frontends.popxl.ops import control as control
from tremula.frontends.popxl.ops import elementwise as elementwise
from tremula.frontends.popxl.ops import float8 as float8
from tremula.frontends.popxl.ops import gradients as gradients
from tremula.frontends.popxl.ops import library_ops as library_ops
from tremula.frontends.popxl.ops import movement as movement
from tremula.frontends.popxl.ops import random_draws as random_draws
from tremula.frontends.popxl.ops import reductions as reductions
from tremula.frontends.popxl.ops import shared_rules as shared_rules
from tremula.frontends.popxl.ops import transfers as transfers
from tremula.frontends.popxl.ops import updates as updates
