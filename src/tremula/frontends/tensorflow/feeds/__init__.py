"""Infeed and outfeed queues: how data gets into a program that loops on the device, and out of it."""
