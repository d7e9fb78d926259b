/** The installed command. Reports a Node that is too old, so it loads on old Nodes and imports nothing statically. */

/** The minimum that `engines` in package.json names. */
const REQUIRED_NODE = '22.19';

const { node } = process.versions;
const [major, minor] = node.split('.').map(Number) as [number, number];
if (major > 22 || (major === 22 && minor >= 19)) {
  await import('./cli.ts');
} else {
  process.stderr.write(
    `stock-mirror needs Node.js ${REQUIRED_NODE} or newer, and this is ${node} (${process.execPath}).\n` +
      'Install a current version from https://nodejs.org/en/download, or with a version manager: `nvm install 24`.\n' +
      'Then install stock-mirror again: a global package belongs to the Node.js that installed it.\n',
  );
  process.exitCode = 2;
}
