"""Connections whose answers httptools reads, with a parser written in C.

Names, addresses, TLS, deadlines and sockets are those of the module `streams`, whichever parser
reads.
"""
