/** docs/sandbox.md has every flag, endpoint, fault and operation of the sandbox. */
import { expect, onTestFinished, test } from 'vitest';
import { sandboxCommand } from '../../src/cli/sandbox.ts';
import { faultsSchema } from '../../src/sandbox/control/faults.ts';
import { operationNames } from '../../src/sandbox/control/operations.ts';
import { orderOperationNames } from '../../src/sandbox/control/orders.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { present } from '../shared/present.ts';
import { blockWith, codeIn, documentAt, sectionOf, tablesOf } from './blocks.ts';
import { lacking } from '../shared/programs.ts';
import { printedBy } from './served.ts';

const DOCUMENT = documentAt('docs/sandbox.md');

const rowsIn = (heading: string) => present(tablesOf(sectionOf(DOCUMENT, heading))[0]).rows;

async function sandboxAlone(): Promise<Sandbox> {
  const sandbox = await startSandbox({ products: 3 });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

test('the flags and their defaults are those of the command', () => {
  const flags = sandboxCommand().options.map(({ flags, defaultValue }) => [
    flags,
    defaultValue === undefined ? 'off' : String(defaultValue),
  ]);
  const documented = rowsIn('Flags').map(([flag = '', usual = '']) => [
    codeIn(flag)[0],
    codeIn(usual)[0] ?? usual,
  ]);
  expect(documented).toEqual(flags);
});

test('every endpoint is there, takes the body that is shown, and there is no other', async () => {
  const { baseUrl } = await sandboxAlone();
  const documented = rowsIn('Control endpoints').map(([endpoint = '', body = '']) => ({
    endpoint: present(codeIn(endpoint)[0]),
    body: codeIn(body)[0] ?? '{}',
  }));
  for (const { endpoint, body } of documented) {
    const [method = '', path = ''] = endpoint.split(' ');
    const isShort = body.includes('…');
    const sent = method === 'GET' || isShort ? {} : { body };
    const response = await fetch(baseUrl + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...sent,
    });
    // A body that the table only begins is refused for what it lacks, not for its path.
    expect(response.status, endpoint).toBe(isShort ? 400 : 200);
  }
  const source = [...(await controlRoutes())].toSorted();
  expect(documented.map(({ endpoint }) => endpoint).toSorted()).toEqual(source);
});

/** As they are written in the source: the router inside the sandbox is its own. */
async function controlRoutes(): Promise<Set<string>> {
  const { readFile } = await import('node:fs/promises');
  const text = await readFile(new URL('../../src/sandbox/control/control.ts', import.meta.url), 'utf8');
  const routes = [...text.matchAll(/app\.(get|post)\('([^']+)'/g)];
  return new Set(routes.map(([, method, path]) => `${present(method).toUpperCase()} /sandbox${path}`));
}

test('every fault is there', async () => {
  const { baseUrl } = await sandboxAlone();
  const documented = rowsIn('Faults').flatMap(([field = '']) => codeIn(field));
  expect(documented.toSorted()).toEqual(Object.keys(faultsSchema.shape).toSorted());
  const { fail } = (await (await fetch(`${baseUrl}/sandbox/faults`)).json()) as { fail: object };
  const failing = present(rowsIn('Faults').find(([field]) => field === '`fail`'));
  expect(codeIn(present(failing[1])).toSorted()).toEqual(Object.keys(fail).toSorted());
});

const lacks = lacking('bash', 'curl');

test.skipIf(lacks)(`the command sets the faults that it names${lacks}`, async () => {
  const { baseUrl } = await sandboxAlone();
  const { text } = blockWith(DOCUMENT, 'sh', '"server_error"');
  const printed = await printedBy(text, { places: { 'http://127.0.0.1:8790': baseUrl } });
  expect(JSON.parse(printed)).toMatchObject({
    loss: 0.1,
    delay_ms: { min: 0, max: 2000 },
    fail: { server_error: 0.05, reset: 0 },
  });
});

test('every operation is there', () => {
  const documented = rowsIn('Operations').map(([operation = '']) => codeIn(operation)[0]);
  expect(documented).toEqual([...operationNames, ...orderOperationNames]);
});
