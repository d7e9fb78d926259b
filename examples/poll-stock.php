#!/usr/bin/env php
<?php
/**
 * Keeps a copy of the mirror's stock up to date: once a second, the rows that changed since the last time.
 *
 * usage: php poll-stock.php MIRROR COPY
 *
 * May be killed at any moment, and continues where it stopped. Needs PHP 8.1 or newer and PDO's
 * SQLite driver (Debian: php-cli, php-sqlite3).
 */
declare(strict_types=1);

const COLUMNS = 'variant_id, warehouse_id, sku, product_name, variant_name, available_qty, on_hand';
const COPY = 'CREATE TABLE IF NOT EXISTS stock (
    variant_id TEXT, warehouse_id TEXT, sku TEXT, product_name TEXT, variant_name TEXT,
    available_qty INTEGER, on_hand INTEGER, PRIMARY KEY (variant_id, warehouse_id)
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
 * What has changed since `$seq`, in one short transaction. The file is opened each time: a restored backup may be
 * another file, and an open connection would stay with the old one. (The flag is `mode=ro` of a URI.)
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
    // Another epoch, removals that were pruned, or a number that was not issued.
    $startOver = $now !== $epoch || $prunedSeq > $seq || $lastSeq < $seq;
    if ($startOver && $syncedAt === null) { // the old rows stay until then
        throw new PDOException('the mirror has not read the whole store yet');
    }
    $since = [$startOver ? 0 : $seq];
    $removed = ask($db, "SELECT variant_id, warehouse_id FROM mirror_changes WHERE seq > ? AND reason = 'removed'", $since);
    $rows = ask($db, 'SELECT ' . COLUMNS . ' FROM mirror_stock WHERE change_seq > ?', $since);
    $db->commit();
    return [$startOver, $now, $lastSeq, $removed, $rows];
}

function poll(string $path, PDO $copy): void
{
    [[$epoch, $seq]] = ask($copy, 'SELECT epoch, seq FROM position');
    [$startOver, $epoch, $lastSeq, $removed, $rows] = readMirror($path, $epoch, $seq);
    // Rows and position in one transaction: both are kept, or neither.
    $copy->beginTransaction();
    if ($startOver) {
        echo "starting over: epoch $epoch\n";
        $copy->exec('DELETE FROM stock');
    }
    $remove = $copy->prepare('DELETE FROM stock WHERE variant_id = ? AND warehouse_id = ?');
    $put = $copy->prepare('INSERT OR REPLACE INTO stock VALUES (?, ?, ?, ?, ?, ?, ?)');
    // Removals first: a row that has come back is among the rows.
    foreach ($removed as $row) {
        $remove->execute($row);
    }
    foreach ($rows as $row) {
        $put->execute($row);
    }
    $copy->prepare('UPDATE position SET epoch = ?, seq = ?')->execute([$epoch, $lastSeq]);
    $copy->commit();
}

if ($argc !== 3) {
    fwrite(STDERR, "usage: php poll-stock.php MIRROR COPY\n");
    exit(2);
}
$copy = new PDO("sqlite:$argv[2]", null, null, [PDO::ATTR_TIMEOUT => 5]);
$copy->exec(COPY);
while (true) {
    try {
        poll($argv[1], $copy);
    } catch (PDOException $error) { // being started, restored or not there yet
        if ($copy->inTransaction()) {
            $copy->rollBack();
        }
        fwrite(STDERR, "not now: {$error->getMessage()}\n");
    }
    sleep(1);
}
