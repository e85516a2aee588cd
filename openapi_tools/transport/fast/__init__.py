"""Connections whose answers httptools reads, with a parser written in C."""
