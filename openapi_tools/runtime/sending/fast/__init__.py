"""Connections on which aiohttp's parser, which is written in C, reads the answers.

Names, addresses, TLS, deadlines and sockets are those of the module `streams`, whichever parser
reads: aiohttp's own connections would look names up after any check of ours, repeat requests by
themselves and write addresses and methods anew.
"""
