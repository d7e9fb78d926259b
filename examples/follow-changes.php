#!/usr/bin/env php
<?php
/**
 * Keeps a copy of the mirror's stock by following its change feed: once a second, each change since the last one.
 *
 * usage: php follow-changes.php MIRROR COPY
 *
 * May be killed at any moment, and continues where it stopped. Needs PHP 8.1 or newer and PDO's
 * SQLite driver (Debian: php-cli, php-sqlite3). The feed has no names; to copy them too, see poll-stock.php.
 */
declare(strict_types=1);

/** At most this many changes in one transaction: after a long absence the feed is long. */
const PAGE = 10_000;
const COPY = 'CREATE TABLE IF NOT EXISTS stock (
    variant_id TEXT, warehouse_id TEXT, available_qty INTEGER, PRIMARY KEY (variant_id, warehouse_id)
  );
  CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT, seq INTEGER NOT NULL);
  INSERT OR IGNORE INTO position VALUES (1, NULL, 0)';

/** What a query finds, as rows of values. */
function ask(PDO $db, string $sql, array $values = []): array
{
    $query = $db->prepare($sql);
    $query->execute($values);
    return $query->fetchAll(PDO::FETCH_NUM);
}

/**
 * The changes after `$seq`, or the whole stock, in one short transaction. The file is opened each time: a restored
 * backup may be another file, and an open connection would stay with the old one. (The flag is `mode=ro` of a URI.)
 */
function readMirror(string $path, ?string $epoch, int $seq): array
{
    $db = new PDO("sqlite:$path", null, null, [
        PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY,
        PDO::ATTR_TIMEOUT => 5,
    ]);
    $db->beginTransaction();
    [[$now, $lastSeq, $prunedSeq, $syncedAt]] =
        ask($db, 'SELECT epoch, last_seq, pruned_change_seq, last_full_sync_at FROM mirror_status');
    $stock = null;
    $changes = [];
    // Another epoch, changes that were pruned, or a number that was not issued.
    if ($now !== $epoch || $prunedSeq > $seq || $lastSeq < $seq) {
        if ($syncedAt === null) { // the old rows stay until then
            throw new PDOException('the mirror has not read the whole store yet');
        }
        $stock = ask($db, 'SELECT variant_id, warehouse_id, available_qty FROM mirror_stock');
        $seq = $lastSeq;
    } else {
        $changes = ask(
            $db,
            'SELECT seq, variant_id, warehouse_id, new_qty FROM mirror_changes WHERE seq > ? ORDER BY seq LIMIT ' . PAGE,
            [$seq],
        );
        $seq = $changes === [] ? $seq : end($changes)[0];
    }
    $db->commit();
    return [$now, $seq, $stock, $changes];
}

/** How many changes there were. */
function poll(string $path, PDO $copy): int
{
    [[$epoch, $seq]] = ask($copy, 'SELECT epoch, seq FROM position');
    [$epoch, $seq, $stock, $changes] = readMirror($path, $epoch, $seq);
    // Rows and position in one transaction: both are kept, or neither.
    $copy->beginTransaction();
    $put = $copy->prepare('INSERT OR REPLACE INTO stock VALUES (?, ?, ?)');
    $remove = $copy->prepare('DELETE FROM stock WHERE variant_id = ? AND warehouse_id = ?');
    if ($stock !== null) {
        echo "starting over: epoch $epoch\n";
        $copy->exec('DELETE FROM stock');
        foreach ($stock as $row) {
            $put->execute($row);
        }
    }
    foreach ($changes as [, $variant, $warehouse, $qty]) {
        // Here an ERP books the movement.
        if ($warehouse === null) {
            continue; // a variant's total, which no warehouse explains
        }
        if ($qty === null) { // removed
            $remove->execute([$variant, $warehouse]);
        } else {
            $put->execute([$variant, $warehouse, $qty]);
        }
    }
    $copy->prepare('UPDATE position SET epoch = ?, seq = ?')->execute([$epoch, $seq]);
    $copy->commit();
    return count($changes);
}

if ($argc !== 3) {
    fwrite(STDERR, "usage: php follow-changes.php MIRROR COPY\n");
    exit(2);
}
$copy = new PDO("sqlite:$argv[2]", null, null, [PDO::ATTR_TIMEOUT => 5]);
$copy->exec(COPY);
while (true) {
    try {
        if (poll($argv[1], $copy) === PAGE) {
            continue;
        }
    } catch (PDOException $error) { // being started, restored or not there yet
        if ($copy->inTransaction()) {
            $copy->rollBack();
        }
        fwrite(STDERR, "not now: {$error->getMessage()}\n");
    }
    sleep(1);
}
