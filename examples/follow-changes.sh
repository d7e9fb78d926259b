#!/usr/bin/env bash
# Keeps a copy of the mirror's stock by following its change feed: once a second, each change since the last one.
#
# usage: follow-changes.sh MIRROR COPY
#
# May be killed at any moment, and continues where it stopped. Needs the sqlite3 shell. The feed has no
# names; to copy them too, see poll-stock.sh.
set -euo pipefail
if (($# != 2)); then
  echo "usage: ${0##*/} MIRROR COPY" >&2
  exit 2
fi
path=${1//%/%25} path=${path//\?/%3f} path=${path//#/%23} path=${path//\'/\'\'} copy=$2

# The mirror is opened each time: a restored backup may be another file. All in one transaction of the copy, so
# that rows and position are both kept, or neither. At most 10,000 changes at once: after a long absence the feed is
# long. Prints "again" when there may be more of them.
poll() {
  sqlite3 -batch -bail "$copy" << SQL
.timeout 5000
CREATE TABLE IF NOT EXISTS stock (
  variant_id TEXT, warehouse_id TEXT, available_qty INTEGER, PRIMARY KEY (variant_id, warehouse_id)
);
CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
INSERT OR IGNORE INTO position VALUES (1, NULL, 0);
ATTACH 'file:$path?mode=ro' AS mirror;

BEGIN;
-- Starting over: another epoch, changes that were pruned, or a number that was not issued. It fails, and the old
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
DELETE FROM stock WHERE (SELECT start_over FROM now);
INSERT INTO stock
SELECT variant_id, warehouse_id, available_qty FROM mirror.mirror_stock WHERE (SELECT start_over FROM now);
UPDATE position SET (epoch, seq) = (SELECT epoch, last_seq FROM now) WHERE (SELECT start_over FROM now);

CREATE TEMP TABLE page AS
SELECT * FROM mirror.mirror_changes WHERE seq > (SELECT seq FROM position) ORDER BY seq LIMIT 10000;
-- Here an ERP books the movements. Without a warehouse: a variant's total, which no warehouse explains.
INSERT OR REPLACE INTO stock
SELECT variant_id, warehouse_id, new_qty FROM page WHERE warehouse_id IS NOT NULL ORDER BY seq;
DELETE FROM stock WHERE available_qty IS NULL; -- removed
UPDATE position SET seq = (SELECT max(seq) FROM page) WHERE EXISTS (SELECT 1 FROM page);
COMMIT;
SELECT 'again' FROM page GROUP BY 1 HAVING count(*) = 10000;
SQL
}

while true; do
  # It fails while the mirror is being started, restored or not there yet; the next second tries again.
  said=$(poll) || echo 'not now' >&2
  [[ -z $said ]] || echo "$said"
  [[ $said == again ]] || sleep 1
done
