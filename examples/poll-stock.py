#!/usr/bin/env python3
"""Keeps a copy of the mirror's stock up to date: once a second, the rows that changed since the last time.

usage: poll-stock.py MIRROR COPY

May be killed at any moment, and continues where it stopped. Python's own sqlite3, nothing to install.
"""
import sqlite3
import sys
import time
from urllib.parse import quote

COLUMNS = "variant_id, warehouse_id, sku, product_name, variant_name, available_qty, on_hand"
COPY = """
CREATE TABLE IF NOT EXISTS stock (
  variant_id TEXT, warehouse_id TEXT, sku TEXT, product_name TEXT, variant_name TEXT,
  available_qty INTEGER, on_hand INTEGER, PRIMARY KEY (variant_id, warehouse_id)
);
CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
INSERT OR IGNORE INTO position VALUES (1, NULL, 0);
"""


def read(path, epoch, seq):
    """What has changed since `seq`, in one short transaction. The file is opened each time: a restored backup
    may be another file, and an open connection would stay with the old one."""
    db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=5, isolation_level=None)
    try:
        db.execute("BEGIN")
        now, last_seq, pruned_seq, synced_at = db.execute(
            "SELECT epoch, last_seq, pruned_change_seq, last_full_sync_at FROM mirror_status"
        ).fetchone()
        # Another epoch, removals that were pruned, or a number that was not issued.
        start_over = now != epoch or pruned_seq > seq or last_seq < seq
        if start_over and synced_at is None:  # the old rows stay until then
            raise sqlite3.DatabaseError("the mirror has not read the whole store yet")
        since = 0 if start_over else seq
        removed = db.execute(
            "SELECT variant_id, warehouse_id FROM mirror_changes WHERE seq > ? AND reason = 'removed'", (since,)
        ).fetchall()
        rows = db.execute(f"SELECT {COLUMNS} FROM mirror_stock WHERE change_seq > ?", (since,)).fetchall()
        return start_over, now, last_seq, removed, rows
    finally:
        db.close()


def poll(path, copy):
    epoch, seq = copy.execute("SELECT epoch, seq FROM position").fetchone()
    start_over, epoch, last_seq, removed, rows = read(path, epoch, seq)
    with copy:  # rows and position in one transaction: both are kept, or neither
        if start_over:
            print("starting over: epoch", epoch, flush=True)
            copy.execute("DELETE FROM stock")
        # Removals first: a row that has come back is among the rows.
        copy.executemany("DELETE FROM stock WHERE variant_id = ? AND warehouse_id = ?", removed)
        copy.executemany("INSERT OR REPLACE INTO stock VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        copy.execute("UPDATE position SET epoch = ?, seq = ?", (epoch, last_seq))


def main(path, copy_path):
    copy = sqlite3.connect(copy_path, timeout=5)
    copy.executescript(COPY)
    while True:
        try:
            poll(path, copy)
        except sqlite3.DatabaseError as error:  # being started, restored or not there yet
            print("not now:", error, file=sys.stderr, flush=True)
        time.sleep(1)


if len(sys.argv) != 3:
    sys.exit(__doc__)
try:
    main(*sys.argv[1:])
except KeyboardInterrupt:
    pass
