/**
 * Who may import whom in src/ (docs/architecture.md#floor-plan): entries → app, cli → ops, intake, reconcile → mirror →
 * event-log → sqlite, store-api → core, traffic, platform. What is not listed may not exist: a new area is a decision, and
 * this table is where it is made. A test refuses circles in it.
 */
export interface Area {
  /** Areas; its own is always allowed. */
  readonly imports: readonly string[];
  /** Single files of other areas, such as `platform/secret.ts`. */
  readonly files?: readonly string[];
  /** Node's modules and npm packages. Default: any. */
  readonly packages?: 'any' | 'node' | 'none';
  /** Areas that may be reached by a dynamic import() besides. */
  readonly dynamicImports?: readonly string[];
}

const CORE = ['core', 'core/merge', 'core/apply'];
const STORE_API = [
  'store-api/contract',
  'store-api/transport',
  'store-api/token',
  'store-api/endpoints',
  'store-api',
];
const SANDBOX = ['world', 'orders', 'network', 'api', 'control', 'ui'].map((part) => `sandbox/${part}`);
/** Beneath the mirror's tables. */
const GROUND = ['platform', ...CORE, 'core/freshness', 'traffic', ...STORE_API, 'sqlite', 'event-log'];
const QUERIES = ['mirror/queries', 'mirror/queries/page'];
const MIRROR = ['mirror/file', ...QUERIES, 'mirror/reader', 'mirror/writer', 'mirror'];
/** The mirror as those see it who write and read through it, but do not open it. */
const FACE = [
  'mirror/store.ts',
  'mirror/writer/store-writer.ts',
  'mirror/reader/store-reader.ts',
  'mirror/file/state.ts',
];
const OPS = ['condition', 'alarms', 'state', 'metrics', 'shared', 'access', 'feed', 'api', 'page'].map(
  (part) => `ops/${part}`,
);
const WORKING = [...GROUND, ...MIRROR, 'intake', 'reconcile', ...OPS, 'ops'];
/** Everything but the entries themselves, which nothing imports. */
const FOR_ENTRIES = [
  ...WORKING,
  'sandbox',
  'sandbox/shared',
  ...SANDBOX,
  'config',
  'app',
  'cli/shared',
  'cli',
];

/** What entries need before everything else. */
const OF_NODE = ['platform/node-version.ts', 'platform/compile-cache.ts', 'platform/npm-shell.ts'];

/** By a folder, or a single file that has rules of its own. The longest name that fits a path is its area. */
export const AREAS: Readonly<Record<string, Area>> = {
  // Listening, sockets, logging, threads, what Node and npm need: nothing of stock.
  platform: { imports: [] },
  // What loads on Nodes that are too old for the rest.
  'platform/node-requirement.ts': { imports: [], packages: 'none' },
  'platform/node-version.ts': { imports: ['platform/node-requirement.ts'], packages: 'none' },
  'platform/compile-cache.ts': { imports: [], packages: 'node' },
  'platform/npm-shell.ts': { imports: [], packages: 'none' },

  // What entries and rows are; the rules about figures; what an entry does to the tables.
  core: { imports: [], packages: 'none' },
  'core/merge': { imports: ['core'], packages: 'none' },
  'core/apply': { imports: ['core', 'core/merge'], packages: 'none' },
  // Which product to read next.
  'core/freshness': { imports: [], packages: 'none' },
  // How much may be asked of the store, and when again.
  traffic: { imports: [], packages: 'none' },

  // The shapes of bodies and answers, which the sandbox shares.
  'store-api/contract': { imports: [] },
  // One request and its answer.
  'store-api/transport': { imports: ['store-api/contract'] },
  'store-api/token': { imports: ['store-api/contract', 'store-api/transport', 'traffic'] },
  'store-api/endpoints': { imports: ['store-api/contract', 'store-api/transport', 'store-api/token'] },
  // The client, and what bodies and answers mean to the mirror.
  'store-api': { imports: ['platform', ...CORE, 'traffic', ...STORE_API] },

  sqlite: { imports: ['platform'] },
  'event-log': { imports: ['platform', ...CORE, ...STORE_API, 'sqlite'] },
  'mirror/file': { imports: ['platform', 'core', 'sqlite', 'event-log'] },
  // They read, and know nothing of who writes.
  'mirror/queries': { imports: [...GROUND, 'mirror/file'] },
  'mirror/queries/page': { imports: [...GROUND, 'mirror/file', 'mirror/queries'] },
  'mirror/reader': { imports: [...GROUND, 'mirror/file', ...QUERIES] },
  'mirror/writer': { imports: [...GROUND, 'mirror/file'], files: ['mirror/reader/store-reader.ts'] },
  // Opens the two, and keeps their files whole.
  mirror: { imports: [...GROUND, ...MIRROR] },

  intake: { imports: GROUND, files: FACE },
  reconcile: { imports: [...GROUND, 'mirror/queries'], files: FACE },

  // What it needs of intake and reconcile it describes as interfaces of its own, and the composition hands it in.
  'ops/condition': { imports: ['platform', 'mirror/queries'], files: ['mirror/file/state.ts'] },
  'ops/alarms': { imports: [...GROUND, 'mirror/queries', 'ops/condition'], files: FACE },
  'ops/state': { imports: [...GROUND, 'mirror/queries', 'ops/condition'], files: FACE },
  'ops/metrics': {
    imports: [...GROUND, 'mirror/queries', 'ops/condition', 'ops/alarms', 'ops/state'],
    files: [...FACE, 'mirror/writer/projection.ts'],
  },
  'ops/shared': {
    imports: [...GROUND, 'mirror/queries', 'ops/condition', 'ops/alarms', 'ops/state', 'ops/metrics'],
    files: [...FACE, 'mirror/retention.ts'],
  },
  'ops/access': { imports: ['platform', 'ops/shared', 'web'] },
  'ops/feed': { imports: [...GROUND, 'mirror/queries', 'ops/shared'], files: FACE },
  'ops/api': {
    imports: [
      ...GROUND,
      'mirror/queries',
      'ops/condition',
      'ops/alarms',
      'ops/state',
      'ops/shared',
      'ops/feed',
      'web',
    ],
    files: FACE,
  },
  'ops/page': {
    imports: [...GROUND, ...QUERIES, 'ops/condition', 'ops/alarms', 'ops/state', 'ops/shared', 'web'],
    files: FACE,
  },
  ops: { imports: [...GROUND, ...OPS], files: FACE },
  // What all pages for people have in common: the frame, the style, the script.
  web: { imports: [], files: ['platform/own-files.ts'] },

  // It stands for the store, so it must not share the code that it tests; the shapes are the contract itself, and how a page
  // looks in a browser is no part of either. Each part builds on those before it.
  'sandbox/shared': { imports: [], files: ['web/shell-word.ts'] },
  ...Object.fromEntries(
    SANDBOX.map((name, at, parts) => [
      name,
      {
        imports: [
          'store-api/contract',
          'sandbox/shared',
          ...parts.slice(0, at),
          ...(name === 'sandbox/ui' ? ['web'] : []),
        ],
      },
    ]),
  ),
  sandbox: { imports: ['sandbox/shared', ...SANDBOX] },

  config: { imports: [], files: ['platform/secret.ts'] },
  // Builds the running mirror out of its parts, for main.ts and the commands.
  app: { imports: [...WORKING, 'config', 'app/clock.ts', 'app/heap.ts'] },
  // The others are given the time: only the composition makes a clock.
  'app/clock.ts': { imports: ['app/steady-clock.ts'] },
  'app/steady-clock.ts': { imports: [], packages: 'none' },
  'app/heap.ts': { imports: [], packages: 'node' },
  'cli/shared': { imports: [...WORKING, 'config'] },
  cli: { imports: FOR_ENTRIES },

  'main.ts': { imports: [...FOR_ENTRIES, ...OF_NODE] },
  'cli.ts': { imports: [...FOR_ENTRIES, ...OF_NODE] },
  // Has to load on Nodes that are too old for the rest: see there.
  'bin.ts': {
    imports: ['platform/compile-cache.ts', 'platform/node-requirement.ts'],
    packages: 'node',
    dynamicImports: ['cli.ts'],
  },
  // What the package gives to other programs.
  'index.ts': { imports: STORE_API },
  'client.ts': { imports: STORE_API },
};

/** The area of a path below src/, such as `core/merge/gap.ts`; the first part of the path when it is in none. */
export function areaOf(path: string): string {
  const parts = path.split('/');
  for (let length = parts.length; length > 0; length -= 1) {
    const name = parts.slice(0, length).join('/');
    if (Object.hasOwn(AREAS, name)) return name;
  }
  return parts[0] ?? path;
}
