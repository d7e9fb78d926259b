/** docs/http-api.md has every endpoint, with its parameters and statuses, and its commands answer as it shows. */
import { expect, test } from 'vitest';
import { SECRET, startIntake } from '../intake/intake.ts';
import { startOps } from '../ops/harness.ts';
import { present } from '../shared/present.ts';
import { newStore } from '../reconcile/mirror.ts';
import { storeAt } from '../mirror/mirror-file.ts';
import { blocksOf, codeIn, documentAt, headingsOf, sectionOf, tablesOf } from './blocks.ts';
import { recipesMirror } from './recipes-mirror.ts';
import { lacking } from '../shared/programs.ts';
import { printedBy } from './served.ts';

const DOCUMENT = documentAt('docs/http-api.md');
const PUBLIC = sectionOf(DOCUMENT, 'Public listener');
const PRIVATE = sectionOf(DOCUMENT, 'Private listener');

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

interface Schema {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

/** Of the API as it is: `GET /api/stock` and what the document of programs says of it. */
async function operations(): Promise<Map<string, Operation>> {
  const ops = await startOps(newStore());
  const { paths } = (await ops.ask('/openapi.json')).json as {
    paths: Record<string, Record<string, Operation>>;
  };
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]),
    ),
  );
}

const endpointsIn = (section: string): string[] =>
  headingsOf(section)
    .map(({ text }) => text)
    .filter((text) => /^[A-Z]+ \//.test(text));

test('the endpoints are those of the API, neither more nor fewer', async () => {
  expect(endpointsIn(PRIVATE).toSorted()).toEqual([...(await operations()).keys()].toSorted());
});

test('the parameters and fields of each are those of the API, with their bounds', async () => {
  for (const [name, { parameters = [], requestBody }] of await operations()) {
    const [table] = tablesOf(sectionOf(PRIVATE, name));
    const documented =
      table?.rows.map(([parameter = '', values = '']) => [present(codeIn(parameter)[0]), values]) ?? [];
    const fields = Object.entries(requestBody?.content['application/json']?.schema.properties ?? {});
    const known = new Map<string, Schema>([
      ...parameters.filter((each) => each.in !== 'path').map((each) => [each.name, each.schema] as const),
      ...fields,
    ]);
    expect(documented.map(([parameter]) => parameter).toSorted(), name).toEqual([...known.keys()].toSorted());
    for (const [parameter, values] of documented) {
      const { minimum, maximum, default: usual, enum: allowed } = present(known.get(present(parameter)));
      if (minimum !== undefined) expect(values, `${name} ${parameter}`).toContain(`${minimum} to ${maximum}`);
      if (usual !== undefined) expect(values, `${name} ${parameter}`).toContain(`by default ${usual}`);
      if (allowed !== undefined) expect(codeIn(present(values)).toSorted(), name).toEqual(allowed.toSorted());
    }
  }
});

test('the statuses of errors are those of the API, and what the framework adds', async () => {
  const statuses = new Set(
    [...(await operations()).values()]
      .flatMap(({ responses }) => Object.keys(responses))
      .filter((status) => status >= '400'),
  );
  const errors = present(tablesOf(sectionOf(PRIVATE, 'Requests and answers'))[0]);
  const documented = errors.rows.map(([status = '']) => present(codeIn(status)[0]));
  expect(documented).toEqual([...statuses, '405'].toSorted());
});

test.each([
  ['404', 'GET', '/nothing', {}],
  ['405', 'POST', '/api/stock', { 'content-type': 'application/json' }],
  ['403', 'GET', '/api/stock', { host: 'mirror.example' }],
  ['400', 'POST', '/api/resync', {}],
] as const)('%s has the error that the document says', async (status, method, path, headers) => {
  const ops = await startOps(newStore());
  const answer = await ops.ask(path, { method, headers });
  const errors = present(tablesOf(sectionOf(PRIVATE, 'Requests and answers'))[0]);
  const row = errors.rows.find(([code]) => code === `\`${status}\``);
  expect(answer.status).toBe(Number(status));
  expect(codeIn(present(row?.[1]))).toContain((answer.json as { error: string }).error);
});

test('the other paths are there', async () => {
  const ops = await startOps(newStore());
  const paths = codeIn(sectionOf(PRIVATE, 'Other paths')).filter((code) => /^(GET|POST) /.test(code));
  expect(paths.length).toBeGreaterThan(9);
  for (const path of paths) {
    const [method = '', where = ''] = path.split(' ');
    const { status } = await ops.ask(where, { method, ...(method === 'POST' && { body: '' }) });
    expect([200, 303], path).toContain(status);
  }
});

/** Instants and epochs differ from run to run, and the wording of an error is for people, not for programs. */
function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(formOf);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === 'error_description' ? typeof inner : formOf(inner),
      ]),
    );
  if (typeof value === 'number' && value > 1_500_000_000_000) return 'an instant';
  if (typeof value !== 'string') return value;
  return value.replaceAll(/\b[0-9a-f]{16}\b/g, 'an epoch').replaceAll(/\b1\d{12}\b/g, 'an instant');
}

/** Each block of commands with the block that shows what it prints. */
function examplesIn(section: string) {
  const blocks = blocksOf(section);
  return blocks.flatMap((block, at) => {
    const next = blocks[at + 1];
    return block.language === 'sh' && next !== undefined && next.language !== 'sh'
      ? [{ heading: block.heading, commands: block.text, shown: next }]
      : [];
  });
}

const lacks = lacking('bash', 'curl', 'openssl');

test.skipIf(lacks)(
  `the commands of the public listener answer as shown, by a right signature alone${lacks}`,
  async () => {
    const { port, store } = await startIntake();
    const places = { 'http://127.0.0.1:8787': `http://127.0.0.1:${port}` };
    const [webhook, health, ...more] = examplesIn(PUBLIC);
    expect(more).toEqual([]);

    const env = { SERVICE_WEBHOOK_SECRET: SECRET };
    expect(await printedBy(present(webhook).commands, { places, env })).toBe(present(webhook).shown.text);
    expect(store.writer.lastSeq).toBe(1);
    expect(JSON.parse(await printedBy(present(health).commands, { places }))).toEqual(
      JSON.parse(present(health).shown.text),
    );

    const wrong = await printedBy(present(webhook).commands, {
      places,
      env: { SERVICE_WEBHOOK_SECRET: 'another' },
    });
    expect(wrong).toMatch(/"error":"invalid_signature".*401\n$/);
    expect(store.writer.lastSeq).toBe(1);
  },
);

test('the statuses of a webhook are those of the listener', () => {
  const answers = present(tablesOf(sectionOf(PUBLIC, 'POST /webhooks'))[0]);
  expect(answers.rows.map(([status = '']) => codeIn(status)[0])).toEqual(['204', '401', '413', '503']);
  expect(endpointsIn(PUBLIC)).toEqual(['POST /webhooks', 'GET /healthz']);
});

// Each command is a process or two.
test.skipIf(lacks)(
  `the commands of the private listener answer as shown${lacks}`,
  { timeout: 60_000 },
  async () => {
    const { url } = await startOps(await storeAt(recipesMirror()));
    const feed = sectionOf(DOCUMENT, 'Change feed');
    const base = present(blocksOf(PRIVATE, 'sh').filter(({ text }) => text.startsWith('ops='))[0]);
    const places = { 'http://127.0.0.1:8788': url };
    const examples = [...examplesIn(PRIVATE), ...examplesIn(feed)];
    const check = async ({ heading, commands, shown }: (typeof examples)[number]): Promise<void> => {
      const printed = await printedBy(base.text + commands, { places });
      const [is, should] =
        shown.language === 'json'
          ? [JSON.parse(printed), JSON.parse(shown.text)]
          : [printed.trimEnd(), shown.text.trimEnd()];
      expect(formOf(is), heading).toEqual(formOf(should));
    };
    // Runs are shown before one is begun: here it is begun first. What only reads is asked side by side.
    const begins = examples.filter(({ commands }) => commands.includes('/api/resync'));
    const reads = examples.filter((example) => !begins.includes(example));
    for (const stage of [begins, reads]) await Promise.all(stage.map(check));
    expect(examples.length).toBeGreaterThanOrEqual(15);
  },
);
