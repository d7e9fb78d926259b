#!/usr/bin/env php
<?php
/**
 * Keeps a copy of what can be sold, and of what can be trusted, by following the mirror's HTTP API once a second.
 *
 * usage: php copy-stock.php COPY
 *
 * STOCK_MIRROR_URL: the mirror's private listener (default: http://127.0.0.1:8788). STOCK_MIRROR_TOKEN: its
 * OPS_READ_TOKEN. May be killed at any moment, and continues where it stopped. Needs PHP 8.1 or newer and PDO's SQLite
 * driver (Debian: php-cli, php-sqlite3).
 */
declare(strict_types=1);

const COLUMNS = [
    'variant_id', 'warehouse_id', 'sku', 'product_name', 'variant_name',
    'available_qty', 'allow_negative_stock', 'why_not',
];
/** The most that one request may name. */
const VARIANTS_AT_ONCE = 100;

/** The mirror cannot continue from the stored position. */
class StartOver extends Exception
{
}

function ask(string $path, array $query = []): array
{
    $base = rtrim(getenv('STOCK_MIRROR_URL') ?: 'http://127.0.0.1:8788', '/');
    $token = getenv('STOCK_MIRROR_TOKEN');
    $http = ['timeout' => 30, 'ignore_errors' => true];
    if ($token !== false) {
        $http['header'] = "Authorization: Bearer $token";
    }
    $url = "$base$path?" . http_build_query($query);
    $stream = @fopen($url, 'r', false, stream_context_create(['http' => $http]));
    if ($stream === false) {
        throw new RuntimeException("$base$path does not answer");
    }
    $status = (int) explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
    $text = (string) stream_get_contents($stream);
    fclose($stream);
    if ($status !== 200 && $status !== 409 && $status !== 410) {
        throw new RuntimeException("$path answered $status: " . substr($text, 0, 300));
    }
    // Throws if the answer was cut off.
    $answer = json_decode($text, true, 512, JSON_THROW_ON_ERROR);
    if ($status !== 200) {
        throw new StartOver($answer['error']);
    }
    return $answer;
}

function sellablePages(array $query = []): array
{
    $pages = [];
    do {
        $page = ask('/api/sellable', ['limit' => 1000] + $query);
        $pages[] = $page;
        $query['after'] = $page['next'];
    } while ($page['has_more']);
    return $pages;
}

/** Replaces the whole copy. The trust of its rows is confirmed by the next poll. */
function startOver(PDO $copy, string $reason): void
{
    run($copy, 'UPDATE position SET confirmed_at = 0');
    // Until then the old rows stay, untrusted.
    if (ask('/api/status')['last_full_sync_at'] === null) {
        throw new RuntimeException('the mirror has not read the whole store yet');
    }
    $pages = sellablePages();
    ['epoch' => $epoch, 'last_seq' => $seq] = $pages[0];
    if (hasOtherEpoch($pages, $epoch)) {
        throw new RuntimeException('a new epoch has begun meanwhile');
    }
    $copy->beginTransaction();
    run($copy, 'DELETE FROM stock');
    put($copy, $pages);
    run($copy, 'UPDATE position SET epoch = ?, seq = ?', [$epoch, $seq]);
    $copy->commit();
    echo "starting over: $reason\n";
}

function run(PDO $copy, string $sql, array $values = []): PDOStatement
{
    $statement = $copy->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function put(PDO $copy, array $pages): void
{
    $places = str_repeat('?, ', count(COLUMNS));
    $insert = $copy->prepare('INSERT INTO stock (' . implode(', ', COLUMNS) . ", read_at) VALUES ($places?)");
    foreach ($pages as $page) {
        foreach ($page['sellable'] as $row) {
            $values = array_map(fn (string $name) => $row[$name], COLUMNS);
            $insert->execute([...$values, $page['as_of']]);
        }
    }
}

function hasOtherEpoch(array $pages, string $epoch): bool
{
    return array_diff(array_column($pages, 'epoch'), [$epoch]) !== [];
}

/** A row that was read after the trust was computed keeps the trust that it was read with. */
function setTrust(PDO $copy, array $trust): void
{
    if ($trust['untrusted'] === null) { // too many to list
        run($copy, 'UPDATE stock SET why_not = ?', [$trust['cause'] ?? $trust['state']]);
        return;
    }
    $asOf = $trust['as_of'];
    run($copy, 'UPDATE stock SET why_not = NULL WHERE why_not IS NOT NULL AND read_at <= ?', [$asOf]);
    foreach ($trust['untrusted'] as $row) {
        run(
            $copy,
            'UPDATE stock SET why_not = ? WHERE variant_id = ? AND warehouse_id IS ? AND read_at <= ?',
            [$row['why_not'], $row['variant_id'], $row['warehouse_id'], $asOf],
        );
    }
}

/** @return bool whether more changes follow. */
function poll(PDO $copy): bool
{
    ['epoch' => $epoch, 'seq' => $seq] = run($copy, 'SELECT epoch, seq FROM position')->fetch(PDO::FETCH_ASSOC);
    if ($epoch === null) {
        throw new StartOver('first');
    }
    $page = ask('/api/changes', ['epoch' => $epoch, 'after' => $seq, 'limit' => 1000, 'trust' => 1]);
    // Here an ERP books the movements in $page['changes']. The copy takes the present rows of their variants.
    $ids = array_values(array_unique(array_column($page['changes'], 'variant_id')));
    $pages = [];
    foreach (array_chunk($ids, VARIANTS_AT_ONCE) as $some) {
        array_push($pages, ...sellablePages(['variant_id' => implode(',', $some)]));
    }
    if (hasOtherEpoch($pages, $epoch)) {
        throw new StartOver('epoch_changed');
    }
    // Rows, trust and position in one transaction: all are kept, or none.
    $copy->beginTransaction();
    if ($page['next'] >= $page['trust']['last_seq']) { // else it is about changes that are still to come
        setTrust($copy, $page['trust']);
        run($copy, 'UPDATE position SET confirmed_at = ?', [time()]);
    }
    foreach ($ids as $id) {
        run($copy, 'DELETE FROM stock WHERE variant_id = ?', [$id]);
    }
    put($copy, $pages);
    run($copy, 'UPDATE position SET seq = ?', [$page['next']]);
    $copy->commit();
    return $page['has_more'];
}

/** Copies a page of changes, or the whole stock. @return bool whether more follows. */
function step(PDO $copy): bool
{
    try {
        return poll($copy);
    } catch (StartOver $reason) {
        startOver($copy, $reason->getMessage());
        return true;
    }
}

if ($argc !== 2) {
    fwrite(STDERR, "usage: php copy-stock.php COPY\n");
    exit(2);
}
// A field that is missing in an answer is an error, too.
set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
$copy = new PDO("sqlite:$argv[1]", null, null, [PDO::ATTR_TIMEOUT => 5]);
$copy->exec(file_get_contents(__DIR__ . '/schema.sql'));
while (true) {
    try {
        if (step($copy)) {
            continue;
        }
    } catch (Exception | TypeError $error) {
        // After a minute of failures the view `sellable` trusts no row.
        if ($copy->inTransaction()) {
            $copy->rollBack();
        }
        fwrite(STDERR, "not now: {$error->getMessage()}\n");
    }
    sleep(1);
}
