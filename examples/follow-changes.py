#!/usr/bin/env python3
"""Keeps a copy of the mirror's stock by following its change feed: once a second, each change since the last one.

usage: follow-changes.py MIRROR COPY

May be killed at any moment, and continues where it stopped. Python's own sqlite3, nothing to install.
The feed has no names; to copy them too, see poll-stock.py.
"""
import sqlite3
import sys
import time
from urllib.parse import quote

# At most this many changes in one transaction: after a long absence the feed is long.
PAGE = 10_000
COPY = """
CREATE TABLE IF NOT EXISTS stock (
  variant_id TEXT, warehouse_id TEXT, available_qty INTEGER, PRIMARY KEY (variant_id, warehouse_id)
);
CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
INSERT OR IGNORE INTO position VALUES (1, NULL, 0);
"""


def read(path, epoch, seq):
    """The changes after `seq`, or the whole stock, in one short transaction. The file is opened each time: a
    restored backup may be another file, and an open connection would stay with the old one."""
    db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=5, isolation_level=None)
    try:
        db.execute("BEGIN")
        now, last_seq, pruned_seq, synced_at = db.execute(
            "SELECT epoch, last_seq, pruned_change_seq, last_full_sync_at FROM mirror_status"
        ).fetchone()
        # Another epoch, changes that were pruned, or a number that was not issued.
        if now != epoch or pruned_seq > seq or last_seq < seq:
            if synced_at is None:  # the old rows stay until then
                raise sqlite3.DatabaseError("the mirror has not read the whole store yet")
            stock = db.execute("SELECT variant_id, warehouse_id, available_qty FROM mirror_stock").fetchall()
            return now, last_seq, stock, []
        changes = db.execute(
            "SELECT seq, variant_id, warehouse_id, new_qty FROM mirror_changes WHERE seq > ? ORDER BY seq LIMIT ?",
            (seq, PAGE),
        ).fetchall()
        return now, changes[-1][0] if changes else seq, None, changes
    finally:
        db.close()


def poll(path, copy):
    """Returns how many changes there were."""
    epoch, seq = copy.execute("SELECT epoch, seq FROM position").fetchone()
    epoch, seq, stock, changes = read(path, epoch, seq)
    with copy:  # rows and position in one transaction: both are kept, or neither
        if stock is not None:
            print("starting over: epoch", epoch, flush=True)
            copy.execute("DELETE FROM stock")
            copy.executemany("INSERT INTO stock VALUES (?, ?, ?)", stock)
        for _, variant, warehouse, qty in changes:
            # Here an ERP books the movement.
            if warehouse is None:
                continue  # a variant's total, which no warehouse explains
            if qty is None:  # removed
                copy.execute("DELETE FROM stock WHERE variant_id = ? AND warehouse_id = ?", (variant, warehouse))
            else:
                copy.execute("INSERT OR REPLACE INTO stock VALUES (?, ?, ?)", (variant, warehouse, qty))
        copy.execute("UPDATE position SET epoch = ?, seq = ?", (epoch, seq))
    return len(changes)


def main(path, copy_path):
    copy = sqlite3.connect(copy_path, timeout=5)
    copy.executescript(COPY)
    while True:
        try:
            if poll(path, copy) == PAGE:
                continue
        except sqlite3.DatabaseError as error:  # being started, restored or not there yet
            print("not now:", error, file=sys.stderr, flush=True)
        time.sleep(1)


if len(sys.argv) != 3:
    sys.exit(__doc__)
try:
    main(*sys.argv[1:])
except KeyboardInterrupt:
    pass
