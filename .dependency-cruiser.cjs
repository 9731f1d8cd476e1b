// The directions of the house. Each rule has a planted violation in test/architecture/violations, and a test that
// the rules broken there are exactly the rules written here.
const mayUse = require('./tools/directions.cjs');

const modules = Object.keys(mayUse).join('|');
const face = '\\.(commands|queries|events|fields|errors)\\.ts$';

/** The layers of the ground floor: each may use those before it. */
const platformLayers = [
  'context',
  'embedded-postgres',
  'observability',
  'overload',
  'database',
  'events',
  'validation',
  'http',
  'audit',
  'changes',
  'unit-of-work',
  'jobs',
];

/** The layers of notifications: each may use those before it. */
const notificationLayers = ['partner', 'subscriptions', 'delivery', 'error-queue', 'partner-side'];

/** The rooms of auth: tokens, then those who make users and applications, then the console's sessions. */
const authLayers = ['tokens', 'administration', 'sessions'];

/** The rooms of results: a body, the records made of it, the bodies that match no exam, and those who deliver and accept. */
const resultLayers = ['body', 'records', 'unmatched', 'delivery'];

/** No layer of `folder` may use one that comes after it. */
const oneDirection = (folder, layers) =>
  layers.slice(0, -1).map((layer, index) => ({
    name: `${folder}-${layer}-looks-down`,
    severity: 'error',
    from: { path: `^src/${folder}/${layer}/` },
    to: { path: `^src/${folder}/(${layers.slice(index + 1).join('|')})/` },
  }));

module.exports = {
  forbidden: [
    ...oneDirection('platform', platformLayers),
    ...oneDirection('notifications', notificationLayers),
    ...oneDirection('auth', authLayers),
    ...oneDirection('results', resultLayers),
    {
      name: 'eligibility-knows-no-operators',
      severity: 'error',
      comment: 'What operators do stands on top of the records.',
      from: { path: '^src/eligibility/[^/]+\\.ts$', pathNot: '\\.module\\.ts$' },
      to: { path: '^src/eligibility/operators/' },
    },
    {
      name: 'context-imports-nothing-of-platform',
      severity: 'error',
      comment: 'What follows a request or a transaction is below everything else.',
      from: { path: '^src/platform/context/' },
      to: { path: '^src/', pathNot: '^src/platform/context/' },
    },
    {
      name: 'partner-imports-nothing-of-ours',
      severity: 'error',
      comment: 'One PUT to a partner: it knows no database, no subscription and no other part of the service.',
      from: { path: '^src/notifications/partner/' },
      to: {
        path: '^src/',
        pathNot: ['^src/notifications/partner/', '^src/platform/(time-limit|urls)\\.ts$'],
      },
    },
    {
      name: 'platform-knows-no-module',
      severity: 'error',
      comment: 'The ground floor carries every module and depends on none.',
      from: { path: '^src/platform/' },
      to: { path: `^src/(${modules})/` },
    },
    {
      name: 'modules-meet-at-their-faces',
      severity: 'error',
      comment: 'Of another module only commands, queries, events, shared fields and problems may be imported.',
      from: { path: `^src/(${modules})/` },
      to: { path: `^src/(${modules})/`, pathNot: [`^src/$1/`, face] },
    },
    ...Object.entries(mayUse).map(([name, used]) => ({
      name: `directions-of-${name}`,
      severity: 'error',
      comment: used.length === 0 ? `${name} uses no other module.` : `${name} uses only ${used.join(', ')}.`,
      from: { path: `^src/${name}/` },
      to: { path: `^src/(${modules})/`, pathNot: `^src/(${[name, ...used].join('|')})/` },
    })),
    {
      name: 'notifications-command-nobody',
      severity: 'error',
      comment: 'Notifications listen: they use events and shared fields, never commands or queries.',
      from: { path: '^src/notifications/' },
      to: { path: '\\.(commands|queries)\\.ts$', pathNot: '^src/notifications/' },
    },
    {
      name: 'only-the-app-composes',
      severity: 'error',
      comment: 'Module classes are imported by app.module.ts alone.',
      from: { path: '^src/', pathNot: ['^src/app\\.module\\.ts$', '\\.module\\.ts$'] },
      to: { path: '\\.module\\.ts$', pathNot: '^src/app\\.module\\.ts$' },
    },
    {
      name: 'modules-do-not-compose-modules',
      severity: 'error',
      from: { path: '\\.module\\.ts$', pathNot: '^src/app\\.module\\.ts$' },
      to: { path: `^src/(${modules})/.*\\.module\\.ts$` },
    },
    {
      name: 'nobody-imports-the-top',
      severity: 'error',
      comment: 'The files of the top floor compose.',
      from: { path: `^src/(platform|${modules})/` },
      to: { path: '^src/[^/]+\\.ts$', pathNot: '^src/schema\\.ts$' },
    },
    {
      name: 'migrations-alone-need-the-schema',
      severity: 'error',
      comment: 'The list of entities and migrations knows every module: who connects and who migrates imports it.',
      from: { path: '^src/', pathNot: '^src/(app\\.module|platform/database/migrate)\\.ts$' },
      to: { path: '^src/schema\\.ts$' },
    },
    {
      name: 'no-circles',
      severity: 'error',
      comment: 'Neither of values nor of types: a type stands with its owner.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'console-uses-http-only',
      severity: 'error',
      comment:
        'Of the service the console knows the types made of the OpenAPI document, and how a cell of a CSV is written.',
      from: { path: '^console/' },
      to: {
        path: '^(src|test|bench|clients)/',
        pathNot: '^(clients/typescript/src/openapi|src/imports/csv-cell)\\.ts$',
      },
    },
    {
      name: 'nobody-imports-the-console',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^console/' },
    },
    {
      name: 'areas-of-the-console-are-apart',
      severity: 'error',
      comment: 'The parts that areas share know none of them; the router and the palette know all.',
      from: { path: '^console/src/(api|components)/' },
      to: { path: '^console/src/', pathNot: '^console/src/(api|components|router-search\\.ts|virtual)' },
    },
    {
      name: 'no-development-dependencies',
      severity: 'error',
      comment: 'The service runs from its production dependencies.',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^test/architecture/violations/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: false,
  },
};
