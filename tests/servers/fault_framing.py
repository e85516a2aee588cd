"""Faults of connections, of the head of a response and of the way its body is delimited."""

from servers.fault_peer import Route, closes, drips, floods, hangs, head, keeps, resets, says
from servers.faults import make_response

JSON = "Content-Type: application/json"
CHUNKED = head(JSON, "Transfer-Encoding: chunked")
ENDLESS = head(JSON, "Connection: close")
HUNDRED = head(JSON, "Content-Length: 100")
EARLY = head("Link: </a>; rel=preload", status="103 Early Hints")
WHOLE = make_response(b'{"fine": true}', JSON)
POISON = make_response(b'{"poison": true}', JSON)
TOO_BIG = make_response(b'{"error": "too big"}', "Connection: close", status="413 Too Large")
EMPTY = "Content-Length: 0"
OK = b"HTTP/1.1 200 OK\r\n"
LATE = "timeout|protocol"


async def reset_when_used_again(caller):
    """Respond to the first request of a connection, and break it at the next one."""
    return await (keeps(WHOLE) if caller.count == 1 else resets())(caller)


def headers(count):
    """Return a behaviour that responds with so many headers."""
    return keeps(make_response(b"{}", *(f"X-{number}: y" for number in range(count))))


CONNECTIONS = (
    Route("reset-before-headers", resets(), "connection"),
    Route("close-before-headers", closes(), "connection"),
    Route("close-inside-headers", closes(OK + b"Content-"), "connection"),
    Route("reset-inside-headers", resets(OK + b"Content-"), "connection"),
    Route("short-body", closes(HUNDRED + b'{"half": true}'), "connection"),
    Route("reset-in-body", resets(HUNDRED + b'{"half": true}'), "connection"),
    Route("reset-in-chunk", resets(CHUNKED + b'20\r\n{"half": true}'), "connection"),
    Route("keep-alive-closed", closes(WHOLE), "ok"),
    Route("reset-when-reused", reset_when_used_again, "ok|connection"),
    Route("answer-before-body", closes(TOO_BIG), "http|connection", "POST", unread=True),
    Route("hang-before-headers", hangs(), "timeout"),
    Route("silence-inside-headers", hangs(OK + b"Content-"), "timeout"),
    Route("silence-after-headers", hangs(HUNDRED), "timeout"),
    Route("body-stalls", hangs(HUNDRED + b'{"half": '), "timeout"),
    Route("chunk-stalls", hangs(CHUNKED + b"8\r\n{"), "timeout"),
    Route("slow-headers", drips(OK, b"X: y\r\n"), "timeout"),
    Route("slow-drip", drips(ENDLESS, b"x"), "timeout"),
    Route("slow-chunks", drips(CHUNKED, b"1\r\nx\r\n"), "timeout"),
)

HEADS = (
    Route("endless-103", drips(b"", EARLY), "timeout"),
    Route("flood-of-103", floods(b"", EARLY * 100), "timeout|protocol"),
    Route("fifty-103", keeps(EARLY * 50 + WHOLE), "ok", small=keeps(EARLY * 9 + WHOLE)),
    Route("endless-headers", floods(OK, b"X: y\r\n" * 1000), "protocol", dripped=LATE),
    Route("giant-header", hangs(OK + b"X: " + b"y" * 10**6 + b"\r\n\r\n"), "protocol",
          small=drips(OK + b"X: ", b"y" * 1000), dripped=LATE),
    Route("thousand-headers", headers(1000), "ok|protocol", small=headers(50)),
    Route("garbage-status-line", closes(b"HELLO WORLD\r\n\r\n"), "protocol"),
    Route("binary-garbage", closes(bytes(range(256)) + b"\r\n\r\n"), "protocol"),
    Route("tls-alert", closes(b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"), "protocol"),
    Route("http-0-9", closes(b"<html>\r\n\r\n<p>old</p>"), "protocol"),
    # Without a blank line it cannot be told from a response that breaks off.
    Route("http-0-9-without-blank-line", closes(b"<html></html>"), "protocol|connection"),
    Route("http-2-preface", closes(b"\0\0\x12\4\0\0\0\0\0" + b"\0" * 18), "protocol|connection"),
    Route("status-999", says(status="999 Odd"), "http"),
    Route("status-600", says(status="600 Odd"), "http"),
    Route("status-99", closes(head(EMPTY, status="99 Odd")), "protocol"),
    Route("status-1000", closes(head(EMPTY, status="1000 Odd")), "protocol"),
    Route("status-of-words", closes(head(EMPTY, status="OK")), "protocol"),
    Route("no-reason-phrase", says(status="200"), "ok"),
    Route("status-101", hangs(head("Upgrade: x", "Connection: upgrade", status="101 Switching")),
          "protocol"),
    Route("header-without-colon", closes(head("no colon")), "protocol"),
    Route("header-with-nul", closes(head("X: a\0b", EMPTY)), "protocol"),
    Route("header-in-latin-1", says(b"{}", "X: caf\xe9"), "ok"),
    Route("header-name-with-space", closes(head("X y: z", EMPTY)), "protocol"),
    Route("folded-header", says(b"{}", "X: a\r\n b"), "ok|protocol"),
)  # fmt: skip

DELIMITERS = (
    Route("bad-chunk-size", closes(CHUNKED + b"zz\r\nhello\r\n"), "protocol"),
    Route("negative-chunk-size", closes(CHUNKED + b"-5\r\nhello\r\n"), "protocol"),
    Route("bad-chunk-terminator", closes(CHUNKED + b"2\r\n{}XX0\r\n\r\n"), "protocol"),
    Route("chunks-without-end", closes(CHUNKED + b"2\r\n{}\r\n"), "protocol"),
    Route("chunk-of-2-64", closes(CHUNKED + b"1" + b"0" * 16 + b"\r\nhi"), "protocol|too_large"),
    Route("chunk-of-2-84", closes(CHUNKED + b"f" * 21 + b"\r\nhi"), "protocol"),
    Route("endless-chunk-extension", floods(CHUNKED + b"2;=", b"y" * 9999), "protocol",
          dripped=LATE),
    # Sent slowly, the JSON comes whole, and the result says that more went on.
    Route("endless-trailers", floods(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 1000), "protocol",
          dripped="timeout|protocol|ok"),
    Route("unknown-transfer-coding", closes(head("Transfer-Encoding: rot13") + b"x"), "protocol"),
    Route("negative-length", closes(head("Content-Length: -5") + b"hello"), "protocol"),
    Route("length-of-words", closes(head("Content-Length: many") + b"hello"), "protocol"),
    Route("two-lengths", closes(head("Content-Length: 5", "Content-Length: 6") + b"hello!"),
          "protocol"),
    Route("length-and-chunks",
          closes(head("Content-Length: 3", "Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n\r\n"),
          "ok"),
    Route("declared-1-gb", hangs(head("Content-Length: 1000000000")), "too_large"),
    Route("endless-body", floods(ENDLESS, b"x" * 65536), "too_large"),
    Route("endless-chunks", floods(CHUNKED, b"2000\r\n" + b"x" * 0x2000 + b"\r\n"), "too_large",
          small=floods(CHUNKED, b"200\r\n" + b"x" * 0x200 + b"\r\n")),
    Route("tiny-chunks", floods(CHUNKED, b"1\r\nx\r\n" * 1000), "too_large|timeout"),
    Route("second-answer", keeps(WHOLE + POISON), "ok"),
    Route("second-answer-after-chunks", keeps(CHUNKED + b"2\r\n{}\r\n0\r\n\r\n" + POISON), "ok"),
    Route("body-after-204", keeps(head("Content-Length: 9", status="204 No") + b'{"a": 1}\n'),
          "ok"),
    Route("body-after-304", keeps(head("Content-Length: 5", status="304 Not") + b"hello"), "http",
          "GET"),
    Route("body-after-head", keeps(WHOLE), "ok", "HEAD"),
)  # fmt: skip

ROUTES = (*CONNECTIONS, *HEADS, *DELIMITERS)
