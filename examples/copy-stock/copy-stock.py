#!/usr/bin/env python3
"""Keeps a copy of what can be sold, and of what can be trusted, by following the mirror's HTTP API once a second.

usage: copy-stock.py COPY

STOCK_MIRROR_URL: the mirror's private listener (default: http://127.0.0.1:8788).
STOCK_MIRROR_TOKEN: its OPS_READ_TOKEN, if it has one.
May be killed at any moment, and continues where it stopped. Needs Python 3.8 or newer, and nothing to install.
"""
import http.client
import json
import os
import sqlite3
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

BASE = os.environ.get("STOCK_MIRROR_URL", "http://127.0.0.1:8788").rstrip("/")
TOKEN = os.environ.get("STOCK_MIRROR_TOKEN")
# urllib would send requests to this machine, too, to the proxy that http_proxy names.
IS_HERE = urlsplit(BASE).hostname in ("127.0.0.1", "::1", "localhost")
urlopen = build_opener(ProxyHandler({} if IS_HERE else None)).open
COLUMNS = (
    "variant_id", "warehouse_id", "sku", "product_name", "variant_name",
    "available_qty", "allow_negative_stock", "why_not",
)
# The most that one request may name.
VARIANTS_AT_ONCE = 100
# No answer, an answer that is not a mirror's, or a copy that is locked or full: all may pass.
FAILURES = (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, sqlite3.OperationalError)


class StartOver(Exception):
    """The mirror cannot continue from the stored position."""


def ask(path, **query):
    headers = {} if TOKEN is None else {"Authorization": f"Bearer {TOKEN}"}
    try:
        with urlopen(Request(f"{BASE}{path}?{urlencode(query)}", headers=headers), timeout=30) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code in (409, 410):
            raise StartOver(json.load(error)["error"]) from None
        raise


def sellable_pages(**query):
    while True:
        page = ask("/api/sellable", limit=1000, **query)
        yield page
        if not page["has_more"]:
            return
        query["after"] = page["next"]


def start_over(copy, reason):
    """Replaces the whole copy. The trust of its rows is confirmed by the next poll."""
    with copy:
        copy.execute("UPDATE position SET confirmed_at = 0")
    # Until then the old rows stay, untrusted.
    if ask("/api/status").get("last_full_sync_at") is None:
        raise ValueError("the mirror has not read the whole store yet")
    pages = list(sellable_pages())
    epoch, seq = pages[0]["epoch"], pages[0]["last_seq"]
    if any(page["epoch"] != epoch for page in pages):
        raise ValueError("a new epoch has begun meanwhile")
    with copy:
        copy.execute("DELETE FROM stock")
        put(copy, pages)
        copy.execute("UPDATE position SET epoch = ?, seq = ?", (epoch, seq))
    print("starting over:", reason, flush=True)


def put(copy, pages):
    copy.executemany(
        f"INSERT INTO stock ({', '.join(COLUMNS)}, read_at) VALUES ({'?, ' * len(COLUMNS)}?)",
        ([*(row[name] for name in COLUMNS), page["as_of"]] for page in pages for row in page["sellable"]),
    )


def set_trust(copy, trust):
    """A row that was read after the trust was computed keeps the trust that it was read with."""
    as_of = trust["as_of"]
    if trust["untrusted"] is None:  # too many to list
        copy.execute("UPDATE stock SET why_not = ?", (trust["cause"] or trust["state"],))
        return
    copy.execute("UPDATE stock SET why_not = NULL WHERE why_not IS NOT NULL AND read_at <= ?", (as_of,))
    copy.executemany(
        "UPDATE stock SET why_not = ? WHERE variant_id = ? AND warehouse_id IS ? AND read_at <= ?",
        ((row["why_not"], row["variant_id"], row["warehouse_id"], as_of) for row in trust["untrusted"]),
    )


def poll(copy):
    """Returns whether more changes follow."""
    epoch, seq = copy.execute("SELECT epoch, seq FROM position").fetchone()
    if epoch is None:
        raise StartOver("first")
    page = ask("/api/changes", epoch=epoch, after=seq, limit=1000, trust=1)
    # Here an ERP books the movements in page["changes"]. The copy takes the present rows of their variants.
    ids = sorted({change["variant_id"] for change in page["changes"]})
    pages = []
    for start in range(0, len(ids), VARIANTS_AT_ONCE):
        pages += sellable_pages(variant_id=",".join(ids[start:start + VARIANTS_AT_ONCE]))
    if any(each["epoch"] != epoch for each in pages):
        raise StartOver("epoch_changed")
    trust = page["trust"]
    with copy:  # rows, trust and position in one transaction: all are kept, or none
        if page["next"] >= trust["last_seq"]:  # else it is about changes that are still to come
            set_trust(copy, trust)
            copy.execute("UPDATE position SET confirmed_at = ?", (int(time.time()),))
        copy.executemany("DELETE FROM stock WHERE variant_id = ?", ((each,) for each in ids))
        put(copy, pages)
        copy.execute("UPDATE position SET seq = ?", (page["next"],))
    return page["has_more"]


def step(copy):
    """Copies a page of changes, or the whole stock. Returns whether more follows."""
    try:
        return poll(copy)
    except StartOver as reason:
        start_over(copy, reason)
        return True


def main(path):
    copy = sqlite3.connect(path, timeout=5)
    copy.executescript(Path(__file__).with_name("schema.sql").read_text())
    while True:
        try:
            if step(copy):
                continue
        except FAILURES as error:
            # After a minute of failures the view `sellable` trusts no row.
            print("not now:", repr(error), file=sys.stderr, flush=True)
        time.sleep(1)


if len(sys.argv) != 2:
    sys.exit(__doc__)
try:
    main(sys.argv[1])
except KeyboardInterrupt:
    pass
