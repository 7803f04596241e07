"""Typed contracts of the artifacts: one module per artifact, checked at the door of every stage."""
