"""PACKAGE."""
