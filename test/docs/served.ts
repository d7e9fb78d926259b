/** A document's commands, run against servers of the test's own in the place of those that it names. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * What the commands of a block print. Rejects when one fails; a stream that goes on is cut after 2 s.
 * @param places what the document says, and what to put there.
 */
export async function printedBy(
  commands: string,
  {
    places,
    env = {},
  }: { readonly places: Readonly<Record<string, string>>; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  let text = commands;
  for (const [said, real] of Object.entries(places)) text = text.replaceAll(said, real);
  const isStream = /curl -sSN/.test(text);
  const script = isStream ? text.replaceAll('curl -sSN', 'curl -sSN -m 2') : text;
  try {
    const { stdout } = await promisify(execFile)('bash', ['-c', `set -e -o pipefail\n${script}`], {
      env: { PATH: process.env['PATH'], ...env },
      timeout: 30_000,
    });
    return stdout;
  } catch (error) {
    // 28: curl's own word for a time that is over.
    const { code, stdout } = error as { code?: unknown; stdout?: string };
    if (isStream && code === 28) return stdout ?? '';
    throw error;
  }
}
