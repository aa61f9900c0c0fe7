"""Conversations that other programs wrote, as sessions."""
