/**
 * Who may import whom in src/ (docs/architecture.md#layout): entries → ops, intake, reconcile → store,
 * service → core. An area is a first folder, or a file directly in src/ by its name. What is not listed may
 * not exist: a new area is a decision, and this table is where it is made.
 */
export interface Area {
  /** Areas, or single files such as `service/schemas.ts`; its own area is always allowed. */
  readonly imports: readonly string[];
  /** Node's modules and npm packages. Default: any. */
  readonly packages?: 'any' | 'node' | 'none';
  /** Areas that may be reached by a dynamic import() besides. */
  readonly dynamicImports?: readonly string[];
}

/** Small things that everybody but core/ may use. */
const SHARED = ['log', 'logger', 'own-files', 'secret', 'send-queues', 'slots'];
const WORKING = ['core', 'service', 'store', 'intake', 'reconcile', 'ops', ...SHARED];
/** Everything but the entries themselves, which nothing imports. */
const FOR_ENTRIES = [
  ...WORKING,
  'sandbox',
  'config',
  'authority',
  'clock',
  'listen',
  'compose',
  'serve',
  'cli/',
  'index',
  'node-version',
  'compile-cache',
  'npm-shell',
];
/** Builds the running mirror out of its parts, for main.ts and the verbs. */
const COMPOSITION: Area = {
  imports: [...WORKING, 'authority', 'config', 'clock', 'heap', 'listen', 'compose', 'serve'],
};

export const AREAS: Readonly<Record<string, Area>> = {
  core: { imports: [], packages: 'none' },
  service: { imports: ['core', ...SHARED] },
  store: { imports: ['core', 'service', ...SHARED] },
  intake: { imports: ['core', 'service', 'store', ...SHARED] },
  reconcile: { imports: ['core', 'service', 'store', ...SHARED] },
  // What it needs of intake and reconcile it describes as interfaces of its own, and the composition hands it in.
  ops: { imports: ['core', 'service', 'store', 'page', ...SHARED] },
  // It stands for the store, so it must not share the code that it tests; the shapes are the contract itself, and
  // how a page looks in a browser is no part of either.
  sandbox: { imports: ['service/schemas.ts', 'service/order-schemas.ts', 'page', ...SHARED] },
  // What all pages for people have in common: the frame, the style, the script.
  page: { imports: [] },
  // The others are given the time: only the composition makes a clock.
  clock: { imports: ['core'] },
  config: { imports: ['secret'] },
  heap: { imports: [], packages: 'node' },
  listen: { imports: ['authority', 'connections'] },
  connections: { imports: ['send-queues', 'slots'], packages: 'node' },
  'send-queues': { imports: [], packages: 'node' },
  authority: { imports: [], packages: 'none' },
  log: { imports: ['secret', 'log-lines'] },
  'log-lines': { imports: [] },
  logger: { imports: ['secret', 'log'] },
  'own-files': { imports: [], packages: 'node' },
  secret: { imports: [], packages: 'none' },
  slots: { imports: [], packages: 'none' },
  compose: COMPOSITION,
  serve: COMPOSITION,
  // What the package gives to other programs.
  index: { imports: ['core', 'service', ...SHARED] },
  client: { imports: ['core', 'service', ...SHARED] },
  'cli/': { imports: FOR_ENTRIES },
  main: { imports: FOR_ENTRIES },
  cli: { imports: FOR_ENTRIES },
  // Has to load on Nodes that are too old for the rest: see there.
  bin: { imports: ['compile-cache', 'node-requirement'], packages: 'node', dynamicImports: ['cli'] },
  'compile-cache': { imports: [], packages: 'node' },
  'npm-shell': { imports: [], packages: 'none' },
  'node-version': { imports: ['node-requirement'], packages: 'none' },
  'node-requirement': { imports: [], packages: 'none' },
};

/**
 * The area of a path below src/, such as `core/gap.ts`. A slash distinguishes the folder cli/ from the file cli.ts.
 */
export function areaOf(path: string): string {
  const [first = '', ...rest] = path.split('/');
  if (rest.length === 0) return first.replace(/\.ts$/, '');
  return first === 'cli' ? 'cli/' : first;
}
