/** An acknowledged delivery survives kill -9 (docs/architecture.md#promises, 1). */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { inboxPath, openInbox } from '../../src/inbox/inbox.ts';
import { run } from '../mirror/child.ts';
import { newPath, values } from '../mirror/mirror-file.ts';

const ROUNDS = [3, 170, 41, 350];

test('keeps every acknowledged delivery over kill -9, without a hole in the numbers', async () => {
  const path = newPath();
  const acknowledged = new Set<number>();
  for (const [round, afterMs] of ROUNDS.entries()) {
    const child = run('append-forever.ts', path, String(round * 1_000_000));
    child.lines.on('line', (line) => void acknowledged.add(Number(line)));
    await child.nextLine();
    await wait(afterMs);
    await child.kill();
  }
  const db = openInbox(inboxPath(path));
  onTestFinished(() => void db.close());
  const kept = new Set(
    values<number>(db, `SELECT json_extract(CAST(body AS TEXT), '$.request_time') FROM inbox`),
  );
  expect(acknowledged.size).toBeGreaterThan(100);
  expect([...acknowledged].filter((n) => !kept.has(n))).toEqual([]);
  const seqs = values<number>(db, 'SELECT seq FROM inbox ORDER BY seq');
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
});
