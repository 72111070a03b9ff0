"""Odd input of ten families: whatever comes in, there is a result or one clear line (tests/test_walk.py)."""
