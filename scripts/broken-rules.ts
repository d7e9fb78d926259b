/**
 * `npm run broken-rules`: breaks a rule of receiving on purpose, in a copy of the program, and expects that the
 * simulation (or the named test, where the rule lies below the simulation's seam) sees it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface BrokenRule {
  readonly name: string;
  readonly changes: readonly { readonly file: string; readonly from: string; readonly to: string }[];
  /** Run instead of the simulation. */
  readonly test?: string;
}

const BROKEN_RULES: readonly BrokenRule[] = [
  {
    name: 'coverage forgets that the process stood still',
    changes: [
      {
        file: 'src/receiver/coverage.ts',
        from: 'if (silentMs <= STANDSTILL_MS) return 0;',
        to: 'if (silentMs > Number.NEGATIVE_INFINITY) return 0;',
      },
    ],
  },
  {
    name: 'a barrier falls',
    changes: [
      {
        file: 'src/core/apply/apply-input.ts',
        from: 'Math.max(work.state.trustedAfterMs, atMs + REPLICA_LAG_MS)',
        to: 'atMs - 86_400_000',
      },
    ],
  },
  {
    name: 'a missed row comes after the delivery that it precedes',
    changes: [
      {
        file: 'src/receiver/inbox-writer.ts',
        from: 'for (const arrival of arrivals) insert(arrival);',
        to: '',
      },
      {
        file: 'src/receiver/inbox-writer.ts',
        from: 'for (const each of missed) {',
        to: 'for (const arrival of arrivals) insert(arrival);\n      for (const each of missed) {',
      },
    ],
  },
  {
    name: 'the receiver prunes beyond the position of the mirror',
    changes: [
      {
        file: 'src/inbox/mirror-position.ts',
        from: 'return row?.seq ?? null;',
        to: 'return Number.MAX_SAFE_INTEGER;',
      },
    ],
  },
  {
    name: 'a run that was killed counts as stopped',
    changes: [
      { file: 'src/receiver/coverage.ts', from: `if (!last.isStopped) return 'killed';`, to: '' },
      {
        file: 'src/receiver/coverage.ts',
        from: `if (last.keptSocket === null || now.passedSocket === null) return 'port_closed';`,
        to: 'if (last.keptSocket === null || now.passedSocket === null) return null;',
      },
    ],
  },
  {
    name: 'a kept socket is trusted although its queue was full',
    changes: [
      {
        file: 'src/receiver/coverage.ts',
        from: 'pausedMs <= KEPT_SOCKET_MS && !wasQueueFull',
        to: 'pausedMs <= KEPT_SOCKET_MS',
      },
    ],
  },
  {
    name: 'commits of the inbox are not synced',
    changes: [
      {
        file: 'src/receiver/inbox-writer.ts',
        from: `db.pragma('synchronous = FULL');`,
        to: `db.pragma('synchronous = NORMAL');`,
      },
    ],
  },
  {
    name: 'an acknowledgement with seq 0 counts',
    changes: [{ file: 'src/stream/nats.ts', from: 'ack.seq === 0', to: 'ack.seq === -1' }],
    test: 'test/stream/nats.test.ts',
  },
];

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '40' },
    minutes: { type: 'string', default: '3' },
    only: { type: 'string' },
  },
});
const ROOT = join(import.meta.dirname, '..');
const COPIED = ['src', 'test', 'scripts', 'drizzle', 'package.json', 'vitest.config.ts', 'tsconfig.json'];

function copyProgram({ changes }: BrokenRule): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-broken-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of changes) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${file} must contain exactly once: ${from}`);
    writeFileSync(path, text.replace(from, to));
  }
  return folder;
}

/** @returns the first line that tells of it; null if nothing was seen. */
function seenIn(folder: string, { test }: BrokenRule): string | null {
  const args =
    test === undefined
      ? [
          'scripts/simulate.ts',
          ...['--kind', 'lives', '--seeds', values.seeds, '--minutes', values.minutes, '--first-failure'],
        ]
      : ['node_modules/vitest/vitest.mjs', 'run', test];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return null;
  return stdout.split('\n').find((line) => /failed: |FAIL /.test(line)) ?? stdout.slice(-500);
}

let unseen = 0;
for (const rule of BROKEN_RULES) {
  if (values.only !== undefined && !rule.name.includes(values.only)) continue;
  const folder = copyProgram(rule);
  try {
    const seen = seenIn(folder, rule);
    if (seen === null) unseen += 1;
    console.log(
      `${seen === null ? 'NOT SEEN' : 'seen'}  ${rule.name}${seen === null ? '' : `\n      ${seen}`}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exitCode = unseen === 0 ? 0 : 1;
