/**
 * Which Node this program runs on, decided without stopping anything, for `node-version.ts` and `../bin.ts`. Both run on
 * Node versions far too old for the rest, so this file keeps to plain syntax and imports nothing.
 */

/** The first version that runs TypeScript sources directly, and that undici supports. The same minimum as `engines` in package.json. */
export const REQUIRED_NODE = '22.19';

/** Whether a version such as `24.21.0` (`process.versions.node`) is new enough. */
export function isNodeSupported(version: string): boolean {
  const required = REQUIRED_NODE.split('.').map(Number);
  const found = version.split('.').map(Number);
  const major = Number(found[0]) - Number(required[0]);
  return major === 0 ? Number(found[1]) >= Number(required[1]) : major > 0;
}

/** The message when it is not: what was found, what is needed, what to do. */
export function explainNodeVersion(version: string): string {
  return (
    `stock-mirror needs Node.js ${REQUIRED_NODE} or newer, and this is ${version} (${process.execPath}).\n` +
    'Install a current version from https://nodejs.org/en/download, or with a version manager: `nvm install 24`.\n' +
    'Then install stock-mirror again: a global package belongs to the Node.js that installed it.\n'
  );
}
