#!/usr/bin/env bash
# Keeps a copy of the mirror's stock up to date: once a second, the rows that changed since the last time.
#
# usage: poll-stock.sh MIRROR COPY
#
# May be killed at any moment, and continues where it stopped. Needs the sqlite3 shell.
set -euo pipefail
if (($# != 2)); then
  echo "usage: ${0##*/} MIRROR COPY" >&2
  exit 2
fi
path=${1//%/%25} path=${path//\?/%3f} path=${path//#/%23} path=${path//\'/\'\'} copy=$2

# The mirror is opened each time: a restored backup may be another file. All in one transaction of the copy, so
# that rows and position are both kept, or neither; it is as short as the rows are few.
poll() {
  sqlite3 -batch -bail "$copy" << SQL
.timeout 5000
CREATE TABLE IF NOT EXISTS stock (
  variant_id TEXT, warehouse_id TEXT, sku TEXT, product_name TEXT, variant_name TEXT,
  available_qty INTEGER, on_hand INTEGER, PRIMARY KEY (variant_id, warehouse_id)
);
CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
INSERT OR IGNORE INTO position VALUES (1, NULL, 0);
ATTACH 'file:$path?mode=ro' AS mirror;

BEGIN;
-- Starting over: another epoch, removals that were pruned, or a number that was not issued. It fails, and the old
-- rows stay, until the mirror has read the whole store.
CREATE TEMP TABLE now (
  epoch, last_seq, synced_at, start_over,
  CONSTRAINT "the mirror has read the whole store" CHECK (synced_at IS NOT NULL OR NOT start_over)
);
INSERT INTO now
SELECT s.epoch, s.last_seq, s.last_full_sync_at,
  s.epoch IS NOT p.epoch OR s.pruned_change_seq > p.seq OR s.last_seq < p.seq
FROM mirror.mirror_status s, position p;
SELECT 'starting over: epoch ' || epoch FROM now WHERE start_over;
UPDATE position SET seq = 0 WHERE (SELECT start_over FROM now);
DELETE FROM stock WHERE (SELECT start_over FROM now);
-- Removals first: a row that has come back is among the rows.
DELETE FROM stock WHERE (variant_id, warehouse_id) IN (
  SELECT variant_id, warehouse_id FROM mirror.mirror_changes
  WHERE seq > (SELECT seq FROM position) AND reason = 'removed'
);
INSERT OR REPLACE INTO stock
SELECT variant_id, warehouse_id, sku, product_name, variant_name, available_qty, on_hand
FROM mirror.mirror_stock WHERE change_seq > (SELECT seq FROM position);
UPDATE position SET (epoch, seq) = (SELECT epoch, last_seq FROM now);
COMMIT;
SQL
}

while true; do
  # It fails while the mirror is being started, restored or not there yet; the next second tries again.
  poll || echo 'not now' >&2
  sleep 1
done
