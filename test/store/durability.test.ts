/** An acknowledged delivery survives kill -9 (docs/architecture.md#promises, 1). */
import { expect, test } from 'vitest';
import { run } from './child.ts';
import { newPath, rows, writerDb } from './mirror-file.ts';

/** Milliseconds between the first acknowledgement and the kill. */
const ROUNDS = [3, 170, 41, 350];

test('after kill -9 at any moment everything acknowledged is there', async () => {
  const path = newPath();
  const acknowledged = new Map<number, number>();
  for (const [round, afterMs] of ROUNDS.entries()) {
    const child = run('append-forever.ts', path, String(round * 1_000_000));
    child.lines.on('line', (line) => {
      const [n, seq] = line.split(' ').map(Number) as [number, number];
      acknowledged.set(n, seq);
    });
    await child.nextLine();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await child.kill();
  }
  const db = writerDb(path);
  const log = rows(
    db,
    `SELECT seq, json_extract(CAST(payload AS TEXT), '$.request_time') AS n FROM log ORDER BY seq`,
  );
  const kept = new Map(log.map((row) => [row['n'], row['seq']]));
  expect(acknowledged.size).toBeGreaterThan(100);
  const lost = [...acknowledged].filter(([n, seq]) => kept.get(n) !== seq);
  expect(lost).toEqual([]);
  expect(log.map((row) => row['seq'])).toEqual(log.map((_, i) => i + 1));
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
});
