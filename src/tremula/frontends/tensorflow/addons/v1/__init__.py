"""Layers of TensorFlow 1 style: functions of variable scopes."""
