/**
 * Fuzzes the reading and merging of webhook bodies: mutates what it has, keeps what reaches new branches, and stops at
 * the first failure, which it makes small and saves where the tests find it.
 *
 * `npm run fuzz -- [--minutes M] [--seed N] [--corpus DIR]`, `npm run fuzz -- --replay FILE`
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { anyBody } from '../test/hostile/bodies.ts';
import { corpusBody, type CorpusEntry } from '../test/hostile/corpus.ts';
import { createChecker } from './fuzz/check.ts';
import { startCoverage } from './fuzz/coverage.ts';
import { mutate, randomFrom } from './fuzz/mutate.ts';
import { shrink } from './fuzz/shrink.ts';

const CORPUS = fileURLToPath(new URL('../test/hostile/corpus/', import.meta.url));
/** Larger ones are the tests' business: they would only be slow here. */
const MAX_SEED_BYTES = 20_000;
const GENERATED = 300;
const REPLAY_EVERY = 2_000;
const NEWS_EVERY_MS = 10_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    corpus: { type: 'string' },
    replay: { type: 'string' },
  },
});

const entriesOf = (file: string): CorpusEntry[] => JSON.parse(readFileSync(file, 'utf8')) as CorpusEntry[];
const filesOf = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(folder, name));

function save(folder: string, name: string, body: Uint8Array): string {
  mkdirSync(folder, { recursive: true });
  const id = createHash('sha256').update(body).digest('hex').slice(0, 12);
  const file = join(folder, `${id}.json`);
  const entry: CorpusEntry = { name, parts: [{ base64: Buffer.from(body).toString('base64') }] };
  writeFileSync(file, `${JSON.stringify([entry], null, 2)}\n`);
  return file;
}

function replayFile(file: string): void {
  const checker = createChecker();
  for (const entry of entriesOf(file)) {
    checker.check(corpusBody(entry));
    console.log(`${entry.name}: holds`);
  }
  checker.checkReplay();
  checker.close();
}

/** @returns false when something failed. */
async function fuzz(minutes: number, seed: number): Promise<boolean> {
  console.log(`seed ${seed}, for ${minutes} min`);
  const random = randomFrom(seed);
  const folders = [CORPUS, ...(values.corpus === undefined ? [] : [values.corpus])];
  mkdirSync(folders.at(-1) ?? CORPUS, { recursive: true });
  const waiting = [
    ...folders.flatMap(filesOf).flatMap(entriesOf).map(corpusBody),
    ...fc.sample(anyBody, { seed, numRuns: GENERATED }),
  ].filter((body) => body.length <= MAX_SEED_BYTES);
  const kept: Uint8Array[] = [];
  const reached = new Set<string>();
  const coverage = await startCoverage();
  const checker = createChecker();
  const untilMs = performance.now() + minutes * 60_000;
  let newsAtMs = performance.now() + NEWS_EVERY_MS;
  let tried = 0;
  const pick = (): Uint8Array => kept[Math.floor(random() * kept.length)] ?? new Uint8Array();
  const tell = (): void =>
    console.log(`${tried} tried, ${kept.length} kept, ${reached.size} branches reached`);

  while (performance.now() < untilMs) {
    const body = waiting.pop() ?? mutate(pick(), pick(), random);
    tried += 1;
    try {
      checker.check(body);
      if (tried % REPLAY_EVERY === 0) checker.checkReplay();
    } catch (error) {
      return report(body, checker.taken, error);
    }
    const fresh = (await coverage.take()).filter((branch) => !reached.has(branch));
    if (fresh.length > 0) {
      for (const branch of fresh) reached.add(branch);
      kept.push(body);
      if (values.corpus !== undefined) save(values.corpus, `reached ${fresh.length} branches first`, body);
    }
    if (performance.now() < newsAtMs) continue;
    newsAtMs = performance.now() + NEWS_EVERY_MS;
    tell();
  }
  try {
    checker.checkReplay();
  } catch (error) {
    return report(new Uint8Array(), checker.taken, error);
  }
  checker.close();
  tell();
  return true;
}

function failsAlone(body: Uint8Array): boolean {
  const checker = createChecker();
  try {
    checker.check(body);
    checker.checkReplay();
    return false;
  } catch {
    return true;
  } finally {
    checker.close();
  }
}

function report(body: Uint8Array, taken: readonly Uint8Array[], error: unknown): false {
  console.error(error);
  if (failsAlone(body)) {
    const file = save(CORPUS, 'found by fuzzing', shrink(body, failsAlone));
    console.error(`saved as ${file}\nreplay it with: npm run fuzz -- --replay ${file}`);
    return false;
  }
  // It takes what came before: kept whole, in order, since the store is what it is because of all of them.
  const entries = [...taken, body].map((one, n): CorpusEntry => ({
    name: `found by fuzzing, ${n + 1} of ${taken.length + 1}`,
    parts: [{ base64: Buffer.from(one).toString('base64') }],
  }));
  const file = join(process.cwd(), 'fuzz-failure.json');
  writeFileSync(file, JSON.stringify(entries));
  console.error(`it fails only after others: all of them are in ${file}; the seed above repeats the run`);
  return false;
}

if (values.replay !== undefined) replayFile(values.replay);
else if (!(await fuzz(Number(values.minutes), Number(values.seed)))) process.exitCode = 1;
