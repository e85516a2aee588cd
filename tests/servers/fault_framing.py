"""Faults of connections, of the head of an answer and of the way its body is delimited."""

from servers.fault_peer import Route, closes, drips, floods, hangs, head, keeps, resets, says
from servers.faults import answer

CHUNKED = head("Content-Type: application/json", "Transfer-Encoding: chunked")
ENDLESS = head("Content-Type: application/json", "Connection: close")
HUNDRED = head("Content-Type: application/json", "Content-Length: 100")
EARLY = head("Link: </a>; rel=preload", status="103 Early Hints")
WHOLE = answer(b'{"fine": true}', "Content-Type: application/json")
POISON = answer(b'{"poison": true}', "Content-Type: application/json")


async def reset_when_used_again(caller):
    """Answer the first request of a connection, and break it at the next one."""
    if caller.count > 1:
        caller.reset()
        return False
    await caller.write(WHOLE)
    return True


BEFORE = "reset / close before headers"
INSIDE = "reset / close inside headers"
BODY = "reset / short body"
SILENCE = "headers then silence; body stalls"
LORIS = "slow-loris headers / body"
EARLIER = "endless 103 responses"
CHUNKS = "bad chunk size / terminator / missing end / 2^64 chunk"
LENGTH = "Content-Length negative / two / with chunked"
MANY = "endless / giant / 1000 headers"
STATUS = "garbage status line, HTTP/0.9, status 999, 101"
LINES = "header without colon, NUL, non-ASCII"
AGAIN = "unsolicited second answer poisons the next call"
AFTER = "body after 204 / 304 / HEAD breaks the next call"

CONNECTIONS = (
    Route("reset-before-headers", BEFORE, resets(), "connection"),
    Route("close-before-headers", BEFORE, closes(), "connection"),
    Route("close-inside-headers", INSIDE, closes(b"HTTP/1.1 200 OK\r\nContent-"), "connection"),
    Route("reset-inside-headers", INSIDE, resets(b"HTTP/1.1 200 OK\r\nContent-"), "connection"),
    Route("short-body", BODY, closes(HUNDRED + b'{"half": true}'), "connection"),
    Route("reset-in-body", BODY, resets(HUNDRED + b'{"half": true}'), "connection"),
    Route("reset-in-chunk", BODY, resets(CHUNKED + b'20\r\n{"half": true}'), "connection"),
    Route("keep-alive-closed", "keep-alive closed by the peer", closes(WHOLE), "ok"),
    Route(
        "reset-when-reused", "reset on reused connection", reset_when_used_again, "ok|connection"
    ),
    Route("answer-before-body", "answer before the request body is read",
          closes(answer(b'{"error": "too big"}', "Connection: close", status="413 Too Large")),
          "http|connection", methods=("POST",), unread=True),
    Route("hang-before-headers", "no answer", hangs(), "timeout", hangs=True),
    Route("silence-inside-headers", SILENCE, hangs(b"HTTP/1.1 200 OK\r\nContent-"), "timeout",
          hangs=True),
    Route("silence-after-headers", SILENCE, hangs(HUNDRED), "timeout", hangs=True),
    Route("body-stalls", SILENCE, hangs(HUNDRED + b'{"half": '), "timeout", hangs=True),
    Route("chunk-stalls", SILENCE, hangs(CHUNKED + b"8\r\n{"), "timeout", hangs=True),
    Route("slow-headers", LORIS, drips(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), "timeout", hangs=True),
    Route("slow-drip", LORIS, drips(ENDLESS, b"x"), "timeout", hangs=True),
    Route("slow-chunks", LORIS, drips(CHUNKED, b"1\r\nx\r\n"), "timeout", hangs=True),
)  # fmt: skip

HEADS = (
    Route("endless-103", EARLIER, drips(b"", EARLY), "timeout", hangs=True),
    Route("flood-of-103", EARLIER, floods(b"", EARLY * 100), "timeout|protocol", hangs=True),
    Route("fifty-103", EARLIER, keeps(EARLY * 50 + WHOLE), "ok", small=keeps(EARLY * 9 + WHOLE)),
    Route("endless-headers", MANY, floods(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000), "protocol",
          dripped="timeout|protocol"),
    Route("giant-header", MANY, hangs(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10**6 + b"\r\n\r\n"),
          "protocol", small=drips(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 1000),
          dripped="timeout|protocol"),
    Route("thousand-headers", MANY,
          keeps(answer(b"{}", *(f"X-{number}: y" for number in range(1000)))), "ok|protocol",
          small=keeps(answer(b"{}", *(f"X-{number}: y" for number in range(50))))),
    Route("garbage-status-line", STATUS, closes(b"HELLO WORLD\r\n\r\n"), "protocol"),
    Route("binary-garbage", STATUS, closes(bytes(range(256)) + b"\r\n\r\n"), "protocol"),
    Route("tls-alert", STATUS, closes(b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"), "protocol"),
    Route("http-0-9", STATUS, closes(b"<html>\r\n\r\n<p>old</p>"), "protocol"),
    # Without a blank line it cannot be told from an answer that breaks off.
    Route("http-0-9-without-blank-line", STATUS, closes(b"<html></html>"), "protocol|connection"),
    Route("http-2-preface", STATUS, closes(b"\0\0\x12\4\0\0\0\0\0" + b"\0" * 18),
          "protocol|connection"),
    Route("status-999", STATUS, says(status="999 Odd"), "http"),
    Route("status-600", STATUS, says(status="600 Odd"), "http"),
    Route("status-99", STATUS, closes(head("Content-Length: 0", status="99 Odd")), "protocol"),
    Route("status-1000", STATUS, closes(head("Content-Length: 0", status="1000 Odd")), "protocol"),
    Route("status-of-words", STATUS, closes(head("Content-Length: 0", status="OK")), "protocol"),
    Route("no-reason-phrase", STATUS, says(status="200"), "ok"),
    Route("status-101", STATUS,
          hangs(head("Upgrade: x", "Connection: upgrade", status="101 Switching")), "protocol"),
    Route("header-without-colon", LINES, closes(head("no colon")), "protocol"),
    Route("header-with-nul", LINES, closes(head("X: a\0b", "Content-Length: 0")), "protocol"),
    Route("header-in-latin-1", LINES, says(b"{}", "X: caf\xe9"), "ok"),
    Route("header-name-with-space", LINES, closes(head("X y: z", "Content-Length: 0")), "protocol"),
    Route("folded-header", LINES, says(b"{}", "X: a\r\n b"), "ok|protocol"),
)  # fmt: skip

DELIMITERS = (
    Route("bad-chunk-size", CHUNKS, closes(CHUNKED + b"zz\r\nhello\r\n"), "protocol"),
    Route("negative-chunk-size", CHUNKS, closes(CHUNKED + b"-5\r\nhello\r\n"), "protocol"),
    Route("bad-chunk-terminator", CHUNKS, closes(CHUNKED + b"2\r\n{}XX0\r\n\r\n"), "protocol"),
    Route("chunks-without-end", CHUNKS, closes(CHUNKED + b"2\r\n{}\r\n"), "protocol"),
    Route("chunk-of-2-64", CHUNKS, closes(CHUNKED + b"1" + b"0" * 16 + b"\r\nhi"),
          "protocol|too_large"),
    Route("chunk-of-2-84", CHUNKS, closes(CHUNKED + b"f" * 21 + b"\r\nhi"), "protocol"),
    Route("endless-chunk-extension", CHUNKS, floods(CHUNKED + b"2;x=", b"y" * 10_000), "protocol",
          dripped="timeout|protocol"),
    Route(
        "endless-trailers",
        CHUNKS,
        floods(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 1000),
        "protocol",
        dripped="timeout|protocol|ok",  # the JSON came whole; the result says that more went on
    ),
    Route("unknown-transfer-coding", CHUNKS, closes(head("Transfer-Encoding: rot13") + b"uryyb"),
          "protocol"),
    Route("negative-length", LENGTH, closes(head("Content-Length: -5") + b"hello"), "protocol"),
    Route("length-of-words", LENGTH, closes(head("Content-Length: many") + b"hello"), "protocol"),
    Route("two-lengths", LENGTH, closes(head("Content-Length: 5", "Content-Length: 6") + b"hello!"),
          "protocol"),
    Route("length-and-chunks", LENGTH,
          closes(head("Content-Length: 3", "Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n\r\n"),
          "ok"),
    Route("declared-1-gb", "declared 1 GB", hangs(head("Content-Length: 1000000000")), "too_large"),
    Route("endless-body", "endless body", floods(ENDLESS, b"x" * 65536), "too_large"),
    Route("endless-chunks", "endless body", floods(CHUNKED, b"2000\r\n" + b"x" * 0x2000 + b"\r\n"),
          "too_large", small=floods(CHUNKED, b"200\r\n" + b"x" * 0x200 + b"\r\n")),
    Route("tiny-chunks", "endless body", floods(CHUNKED, b"1\r\nx\r\n" * 1000), "too_large|timeout",
          dripped="timeout|too_large"),
    Route("second-answer", AGAIN, keeps(WHOLE + POISON), "ok"),
    Route(
        "second-answer-after-chunks", AGAIN, keeps(CHUNKED + b"2\r\n{}\r\n0\r\n\r\n" + POISON), "ok"
    ),
    Route("body-after-204", AFTER,
          keeps(head("Content-Length: 9", status="204 No Content") + b'{"a": 1}\n'), "ok"),
    Route("body-after-304", AFTER,
          keeps(head("Content-Length: 5", status="304 Not Modified") + b"hello"), "http",
          methods=("GET",)),
    Route("body-after-head", AFTER, keeps(WHOLE), "ok", methods=("HEAD",)),
)  # fmt: skip

ROUTES = (*CONNECTIONS, *HEADS, *DELIMITERS)
