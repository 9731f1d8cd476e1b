// The directions of the house. Each rule has a planted violation in test/architecture/violations, and a test that
// the rules broken there are exactly the rules written here.
const modules = 'auth|accounts|eligibility|vouchers|bookings|results|notifications|console';
const face = '\\.(commands|queries|events|fields)\\.ts$';

/** The modules that each module may speak to, through their faces. The console may use any; nobody uses the console. */
const mayUse = {
  auth: ['accounts'],
  accounts: [],
  vouchers: ['accounts'],
  eligibility: ['vouchers', 'accounts'],
  bookings: ['eligibility'],
  results: ['bookings', 'eligibility'],
  notifications: ['bookings', 'eligibility'],
};

module.exports = {
  forbidden: [
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
      comment: 'Of another module only commands, queries, events and shared fields may be imported.',
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
      comment: 'The files of the top floor compose; below them only the configuration is known.',
      from: { path: `^src/(platform|${modules})/` },
      to: { path: '^src/[^/]+\\.ts$', pathNot: '^src/config\\.ts$' },
    },
    {
      name: 'no-circles',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
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
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: false,
  },
};
