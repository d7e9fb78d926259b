/** Run by npm before it packs: what `npm pack` and `npm publish` make of the project itself is not the package. */
if (['pack', 'publish'].includes(process.env['npm_command'] ?? '')) {
  console.error('error: npm run pack makes the package; see scripts/pack.ts');
  process.exitCode = 1;
}
