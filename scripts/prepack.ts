/** Stops `npm pack` and `npm publish` of the project itself, which would not make the package. */
if (['pack', 'publish'].includes(process.env['npm_command'] ?? '')) {
  console.error('error: npm run pack makes the package; see scripts/pack.ts');
  process.exitCode = 1;
}
