"""Estimators whose models run on virtual IPUs: stock estimators around a program that loops on the device."""
