"""Stepwell: a tensor compiler that walks down landing by landing, from TVMScript to native code."""
