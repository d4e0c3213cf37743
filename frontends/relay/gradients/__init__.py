"""Gradients of graphs: `gradient` of a function by reverse accumulation, with a rule for each operator."""

from . import elements, images, losses, movement, products, reductions
from .reverse import gradient
from .rules import RULES, Rule, rule

__all__ = ["RULES", "Rule", "elements", "gradient", "images", "losses", "movement", "products", "reductions", "rule"]
