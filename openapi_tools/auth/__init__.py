"""Credentials, security schemes and OAuth 2."""
