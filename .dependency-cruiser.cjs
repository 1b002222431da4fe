// The direction of every import of this repository. docs/architecture.md explains it; this file enforces it.
// TypeScript is parsed by swc: the TypeScript compiler in use has no JavaScript API. Type-only imports count too.

const spec = '\\.(spec|int-spec)\\.ts$';
const testSupport = '(^|/)testing/';
const production = { pathNot: [spec, testSupport] };
const projectFiles = '^(apps|libs|tools|scripts|bench|test)/';

/** `lib` may import the libs named, and nothing else of this repository. */
const libImportsOnly = (lib, allowed, comment) => ({
  name: `lib-${lib}-imports-only-${allowed.join('-and-') || 'nothing'}`,
  comment,
  severity: 'error',
  from: { path: `^libs/${lib}/` },
  to: { path: projectFiles, pathNot: `^libs/(${[lib, ...allowed].join('|')})/` },
});

/** Only files that match `allowed`, and tests on real servers, may import the npm packages that match `packages`. */
const packageOnlyIn = (name, packages, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: '^(apps|libs|tools)/', pathNot: [...allowed, '\\.int-spec\\.ts$', testSupport] },
  to: { path: `(^|/)node_modules/(@types/)?${packages}/` },
});

/**
 * The folders of the inference library from the lowest to the highest, each with the reason for its place. Those
 * of one row do not import each other.
 */
const inferenceLayers = [
  [['media', 'How large a picture and how long a sound is stands in its bytes, whatever they are for.']],
  [['pricing', 'A price is arithmetic over counted tokens: who counted them, and from which answer, does not matter.']],
  [['catalogue', 'The catalogue states facts about models and endpoints; how they are called is decided above it.']],
  [['model', 'The canonical model belongs to no dialect and no provider, else each of them would know the others.']],
  [['wire', 'How bytes get to an upstream and back is the same for every dialect, so it knows none.']],
  [
    ['dialects', 'A dialect turns bytes into the model and back: pure functions, tested without a provider.'],
    ['audio', 'Recordings and transcripts are no conversation: no dialect needs them, and they need no dialect.'],
    ['videos', 'A video job is no conversation: no dialect needs it, and it needs no dialect.'],
  ],
  [['apis', 'What callers may send is the same whoever serves them, so no provider or route is known here.']],
  [['providers', 'An adapter speaks one wire protocol for one call; which call that is, routing decides.']],
  [['routing', 'Routing plans and remembers outcomes but makes no calls, so that a plan can be tested as a value.']],
  [['engine', 'The engine makes the calls. Everything may be used here, and nothing below may call back into it.']],
];

const inferenceRules = inferenceLayers.flatMap((row, height) =>
  row.map(([folder, comment]) => {
    const lower = inferenceLayers.slice(0, height).flat();
    const allowed = [folder, ...lower.map(([name]) => name)];
    return {
      name: `inference-${folder}-imports-only-lower-layers`,
      comment,
      severity: 'error',
      from: { path: `^libs/inference/src/${folder}/`, ...production },
      to: { path: '^libs/inference/src/', pathNot: `^libs/inference/src/(${allowed.join('|')})/` },
    };
  }),
);

const kindMayNotImport = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: `\\.(${from})\\.ts$`, pathNot: spec },
  to: { path: `\\.(${to})\\.ts$` },
});

module.exports = {
  forbidden: [
    // The star of libs.
    libImportsOnly(
      'errors',
      [],
      'Everything imports errors, so errors may import nothing: it must never drag a lib along.',
    ),
    {
      name: 'errors-has-no-dependency',
      comment:
        'The error table is read by every process, by tools and by tests: it has no package and no Node module to load.',
      severity: 'error',
      from: { path: '^libs/errors/', ...production },
      to: { dependencyTypesNot: ['local'], pathNot: '^libs/errors/' },
    },
    libImportsOnly(
      'failpoints',
      [],
      'Failpoints are called from everywhere and do nothing in production: nothing of the product may hang on them.',
    ),
    libImportsOnly(
      'json',
      [],
      'JSON is read by apps that know no provider, too: its readers know bytes and grammar only.',
    ),
    libImportsOnly(
      'contracts',
      ['errors'],
      'Contracts are what two processes agree on; they must not know how either of them works.',
    ),
    {
      name: 'contracts-packages',
      comment:
        'A contract is plain data with validation: class-validator and class-transformer are all the packages it needs.',
      severity: 'error',
      from: { path: '^libs/contracts/', ...production },
      to: {
        path: '(^|/)node_modules/',
        pathNot: '(^|/)node_modules/(class-validator|class-transformer|reflect-metadata)/',
      },
    },
    libImportsOnly(
      'inference',
      ['contracts', 'errors', 'json'],
      'Inference is a pure library: no tables, no broker, so a bench or a test runs it alone.',
    ),
    libImportsOnly(
      'persistence',
      ['contracts', 'errors', 'failpoints'],
      'Tables know neither providers nor the broker: a migration must not need them.',
    ),
    libImportsOnly(
      'platform',
      ['contracts', 'errors', 'failpoints'],
      'How an app boots and talks is the same for every domain, so platform knows none.',
    ),
    {
      name: 'libs-know-only-libs',
      comment: 'A lib is what two apps share: one that imports an app, a tool or a script is shared by nobody.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(apps|tools|scripts|bench|test)/' },
    },
    {
      name: 'apps-never-import-apps',
      comment: 'An app is a process. Two apps talk through contracts over the broker, or share a lib.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'apps-import-libs-only',
      comment: 'The image holds apps and libs; what else lies in the repository is not there at run time.',
      severity: 'error',
      from: { path: '^apps/' },
      to: { path: '^(tools|scripts|bench|test)/' },
    },
    {
      name: 'libs-through-their-index',
      comment: 'The index is what a lib promises; a file behind it may change without asking.',
      severity: 'error',
      from: { path: '^(?:apps|libs|tools|scripts|bench|test)/([^/]+)/' },
      to: {
        path: '^libs/[^/]+/',
        pathNot: ['^libs/$1/', '^libs/[^/]+/src/index\\.ts$', '^libs/[^/]+/src/testing/index\\.ts$'],
      },
    },
    {
      name: 'libs-through-their-index-from-the-top',
      comment: 'The same for files that lie directly in tools, scripts, bench and test.',
      severity: 'error',
      from: { path: '^(?:tools|scripts|bench|test)/[^/]+$' },
      to: { path: '^libs/[^/]+/', pathNot: ['^libs/[^/]+/src/index\\.ts$', '^libs/[^/]+/src/testing/index\\.ts$'] },
    },
    {
      name: 'testing-is-for-tests',
      comment: 'Fakes and throw-away databases must not reach a running process.',
      severity: 'error',
      from: { path: '^(apps|libs|tools)/', ...production },
      to: { path: testSupport },
    },
    {
      name: 'no-cycles',
      comment: 'In a cycle no file can be understood, loaded or moved without the others.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },

    // The layers inside inference (docs/adr/0047-inference-has-layers.md). Type-only imports count too.
    ...inferenceRules,
    {
      name: 'inference-has-only-layers',
      comment: 'A file outside the layers would escape their order; only the index stands above them.',
      severity: 'error',
      from: {
        path: '^libs/inference/src/',
        pathNot: [
          spec,
          testSupport,
          '^libs/inference/src/index\\.ts$',
          `^libs/inference/src/(${inferenceLayers
            .flat()
            .map(([folder]) => folder)
            .join('|')})/`,
        ],
      },
      to: {},
    },

    // The direction inside an app: controller or consumer → service → port → adapter.
    kindMayNotImport(
      'entrances-do-not-reach-adapters',
      'controller|consumer',
      'repository|entity|provider',
      'Controllers and consumers unpack and call; what they skip, the service, is where the decisions are.',
    ),
    kindMayNotImport(
      'decisions-do-not-know-entrances',
      'service|repository|entity',
      'controller|consumer|guard|filter',
      'A service answers HTTP and messages alike because it knows neither.',
    ),
    kindMayNotImport(
      'adapters-do-not-know-services',
      'repository|entity|provider',
      'service',
      'Data flows one way; an adapter that calls a service turns the flow around.',
    ),

    // What one room alone may touch.
    packageOnlyIn(
      'typeorm-only-in-persistence',
      'typeorm',
      ['^libs/persistence/', '\\.(repository|entity)\\.ts$', '\\.(repository|entity)\\.spec\\.ts$'],
      'Queries live in repositories, so that a table can change without a service noticing.',
    ),
    packageOnlyIn(
      'broker-only-in-messaging',
      '(amqplib|amqp-connection-manager|@nestjs/microservices)',
      ['^libs/platform/src/messaging/'],
      'The broker client has traps (auto-ack, unlimited prefetch, transient messages); one folder knows them.',
    ),
    packageOnlyIn(
      'redis-only-in-its-adapters',
      'ioredis',
      ['/redis-[^/]+$', '/redis\\.[^/]+$', '/redis/'],
      'Redis may be lost at any time; only an adapter that says what happens then may talk to it.',
    ),
    packageOnlyIn(
      'telemetry-sdk-only-in-telemetry',
      '@opentelemetry/[^/]+',
      ['^libs/platform/src/telemetry/'],
      'The SDK is loaded only where an operator wants it; everybody else tells of work through `tracing()`.',
    ),
    {
      name: 'no-nest-in-plain-libs',
      comment:
        'Errors, JSON, contracts and inference are plain TypeScript: a tool or a test uses them without a container.',
      severity: 'error',
      from: { path: '^libs/(errors|json|contracts|inference)/' },
      to: { path: '(^|/)node_modules/@nestjs/' },
    },
    {
      name: 'every-import-resolves',
      comment:
        'An import that cannot be found escapes every rule above. Programs of clients have packages of their own, which are installed elsewhere.',
      severity: 'error',
      from: { pathNot: '^test/clients/agents/programs/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // Our own build; a package that has its files in dist must not escape the rules.
    exclude: { path: '^dist/|(^|/)__fixtures__/' },
    webpackConfig: { fileName: 'scripts/dependency-resolution.cjs' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json', '.d.ts'],
    },
  },
};
