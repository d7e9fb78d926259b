import { spawn, type ChildProcess } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { present } from '../shared/present.ts';
import { sandboxFor } from './harness.ts';

const entry = `
  import { createProgram } from './src/cli/program.ts';
  import { runProgram } from './src/cli/run.ts';
  import { createCommand } from './src/cli/sandbox.ts';
  const code = await runProgram(createProgram([createCommand()]), process.argv.slice(1));
  if (code !== undefined) process.exitCode = code;
`;

type Run = { child: ChildProcess; output: () => string; exited: Promise<number | null> };

function run(...args: string[]): Run {
  const child = spawn(
    process.execPath,
    ['--input-type=module-typescript', '--eval', entry, '--', 'sandbox', ...args],
    { cwd: new URL('../..', import.meta.url).pathname },
  );
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { child, output: () => output, exited };
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 0],
] as const)('serves until %s, then exits %i', async (signal, code) => {
  const { child, output, exited } = run('--port', '0', '--rate', '20', '--faults', '{"loss":1}');
  await expect.poll(output).toMatch(/lost/);
  const lines = output().split('\n');
  const baseUrl = present(lines.find((line) => line.startsWith('SERVICE_BASE_URL='))?.split('=')[1]);
  expect(lines).toContain('SERVICE_CLIENT_ID=sandbox-client');
  expect(lines).toContain('SERVICE_CLIENT_SECRET=sandbox-secret');
  expect(lines).toContain('SERVICE_WEBHOOK_SECRET=sandbox-webhook-secret');
  expect((await fetch(`${baseUrl}/sandbox/truth`)).status).toBe(200);

  child.kill(signal);
  expect(await exited).toBe(code);
});

test('reports a port in use', async () => {
  const { port } = await sandboxFor();
  const { output, exited } = run('--port', String(port));
  expect(await exited).toBe(1);
  expect(output()).toContain(`port ${port} on 127.0.0.1 is already in use`);
});
