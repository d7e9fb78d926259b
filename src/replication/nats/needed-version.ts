/** Of the NATS servers. */
export const NEEDED_VERSION = '2.10.23';

export function isNewEnough(version: string): boolean {
  const needed = NEEDED_VERSION.split('.').map(Number);
  const parts = version.split(/[.-]/).map(Number);
  const at = needed.findIndex((part, i) => part !== parts[i]);
  return at < 0 || (parts[at] ?? 0) > (needed[at] ?? 0);
}
