/** A failed read says when the next one comes, and nothing else (docs/architecture.md#queue). */
import { expect, test } from 'vitest';
import { READ_FAILED } from '../../../src/core/reasons.ts';
import { delivery, detail, DirectWriter, item, rows, T0, values } from '../mirror-file.ts';

const tea = detail('10', [{ id: '100', levels: { 1: 5 } }]);

function mirrorOf(readAtMs: number): DirectWriter {
  const made = new DirectWriter();
  made.read('10', tea, readAtMs);
  return made;
}

/** The read of a run of the operator, which goes before every other. */
function fail(made: DirectWriter): void {
  made.command('failRead', {
    productId: '10',
    priority: 0,
    attempts: 3,
    faults: 3,
    retryAtMs: T0 + 60_000,
    parked: false,
    isGivenUp: false,
    error: 'broken',
    atMs: T0 - 1_000,
  });
}

test('leaves a later request as it is without the failure', () => {
  const [failing, sound] = [mirrorOf(T0 - 60_000), mirrorOf(T0 - 60_000)];
  fail(failing);
  expect(values(failing.db, 'SELECT reason FROM due_reads')).toEqual([READ_FAILED]);
  const requestOf = (made: DirectWriter): unknown => {
    // The new level has no earlier quantity to compare with: a conflict.
    made.deliver(delivery('a', item({ warehouse_id: '2' })), T0);
    const ruled = 'reason, priority, is_suspect, made_at_ms, first_made_at_ms, not_before_ms';
    return rows(made.db, `SELECT ${ruled} FROM due_reads`)[0];
  };
  const request = requestOf(sound);
  expect(request).toMatchObject({ reason: 'conflict', priority: 1 });
  expect(requestOf(failing)).toEqual(request);
  expect(rows(failing.db, 'SELECT attempts, retry_at_ms, last_error FROM due_reads')).toEqual([
    { attempts: 3, retry_at_ms: T0 + 60_000, last_error: 'broken' },
  ]);
});

test('ends with any answer', () => {
  const made = mirrorOf(T0);
  fail(made);
  made.read('10', tea, T0 - 30_000);
  expect(values(made.db, 'SELECT count(*) FROM due_reads')).toEqual([0]);
});
