#!/usr/bin/env bash
# Keeps a copy of what can be sold, and of what can be trusted, by reading the mirror's file once a second.
#
# usage: copy-stock.sh MIRROR COPY
#
# MIRROR is the mirror's DATABASE_PATH, on this host. May be killed at any moment, and continues where it stopped.
# Needs the sqlite3 shell.
set -euo pipefail
if (($# != 2)); then
  echo "usage: ${0##*/} MIRROR COPY" >&2
  exit 2
fi
path=${1//%/%25} path=${path//\?/%3f} path=${path//#/%23} path=${path//\'/\'\'} copy=$2

# The mirror is opened each time: a restored backup may be another file. All in one transaction of the copy, so that
# rows, trust and position are all kept, or none.
poll() {
  sqlite3 -batch -bail "$copy" << SQL
.timeout 5000
ATTACH 'file:$path?mode=ro' AS mirror;

-- Another epoch: the old rows stay until the mirror has read the whole store, but untrusted.
UPDATE position SET confirmed_at = 0 WHERE epoch IS NOT (SELECT epoch FROM mirror.mirror_status);

BEGIN;
-- Starting over: another epoch, changes that were pruned, or a number that was not issued.
CREATE TEMP TABLE now (
  epoch, last_seq, synced_at, start_over,
  CONSTRAINT "the mirror has read the whole store" CHECK (synced_at IS NOT NULL OR NOT start_over)
);
INSERT INTO now
SELECT status.epoch, status.last_seq, status.last_full_sync_at,
  status.epoch IS NOT position.epoch OR status.pruned_change_seq > position.seq OR status.last_seq < position.seq
FROM mirror.mirror_status AS status, position;
SELECT 'starting over: epoch ' || epoch FROM now WHERE start_over;
DELETE FROM stock WHERE (SELECT start_over FROM now);
UPDATE position SET seq = 0 WHERE (SELECT start_over FROM now);

-- All rows of the variants that changed: rows that were removed, and totals replaced by warehouses, go with them.
CREATE TEMP TABLE changed AS
SELECT variant_id FROM mirror.mirror_changes WHERE seq > (SELECT seq FROM position)
UNION
SELECT variant_id FROM mirror.mirror_sellable WHERE change_seq > (SELECT seq FROM position);
DELETE FROM stock WHERE variant_id IN (SELECT variant_id FROM changed);
INSERT INTO stock
SELECT variant_id, warehouse_id, sku, product_name, variant_name, available_qty, allow_negative_stock, why_not, NULL
FROM mirror.mirror_sellable WHERE variant_id IN (SELECT variant_id FROM changed);

-- The trust of every row, because it changes without a number. Only what differs is written.
CREATE TEMP TABLE untrusted AS
SELECT variant_id, warehouse_id, why_not FROM mirror.mirror_sellable WHERE trusted = 0;
CREATE INDEX temp.untrusted_variant ON untrusted (variant_id);
UPDATE stock SET why_not = present.why_not
FROM (
  SELECT stock.rowid AS row, untrusted.why_not
  FROM stock
  LEFT JOIN untrusted
    ON untrusted.variant_id = stock.variant_id AND untrusted.warehouse_id IS stock.warehouse_id
) AS present
WHERE stock.rowid = present.row AND stock.why_not IS NOT present.why_not;

UPDATE position
SET (epoch, seq, confirmed_at) = (SELECT epoch, last_seq, CAST(strftime('%s', 'now') AS INTEGER) FROM now);
COMMIT;
SQL
}

sqlite3 -batch -bail "$copy" < "$(dirname "$0")/schema.sql"
while true; do
  # It fails while the mirror is being started, restored or not there yet; the next second tries again. After a minute
  # of failures the view `sellable` trusts no row.
  poll || echo 'not now' >&2
  sleep 1
done
